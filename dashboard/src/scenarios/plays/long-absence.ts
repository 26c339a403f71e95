/** A replica is away for so long that the others' logs have let go of what it lacks. */

import { hasCaughtUp, rolesIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, lastStatusIn, leaderIn, replicaIn, type Seen, statusIn } from '../seen.ts';
import { listed } from '../words.ts';

const absent = (start: Seen) => rolesIn(start).one;
const present = (start: Seen) => [rolesIn(start).leader, ...rolesIn(start).others.slice(1)];
const neededFrom = ({ now, start }: Told): number => (lastStatusIn(now, absent(start))?.commitPoint ?? 0) + 1;
const purgedTo = (told: Told): number =>
  Math.min(...present(told.start).map((id) => statusIn(told.now, id)?.log.purgedTo ?? 0));
const hasBegunCopy = ({ start, ends, now }: Told): boolean =>
  eventsIn(now, 'BeginCopy', { of: absent(start), afterMs: ends[0]!.atMs }).length > 0 ||
  statusIn(now, absent(start))?.recovery?.phase === 'copying';

export const longAbsence: Scenario = {
  id: 'long-absence',
  name: 'A long absence and a copy',
  promise: 'A replica is away until nobody’s log reaches back to where it stopped.',
  plays: 'simulated',
  replicas: { least: 3, most: 7 },
  needsWrites: true,

  question(start) {
    const { one, others } = rolesIn(start);
    return {
      text: `${one} is switched off while clients write on. Logs are bounded: those of ${rolesIn(start).leader} and ${listed(others.slice(1))} let go of their oldest slots. Then ${one} is back, with its disk as it was. How does it catch up?`,
      choices: [
        { id: 'log', text: 'The others send it the slots that it missed' },
        { id: 'copy', text: 'It takes a copy of another’s database, and the log from there' },
        { id: 'anew', text: 'It is wiped, and let in as somebody new' },
      ],
    };
  },

  chapters: [
    {
      title: 'A replica is away for long',
      acts: ({ start }) => [{ action: 'crash', replica: absent(start) }],
      awaits: (told) => `nobody’s log holds slot ${neededFrom(told)} any more (at 4× that is sooner)`,
      hasComeAbout: (told) =>
        replicaIn(told.now, absent(told.start))?.process === 'stopped' && purgedTo(told) >= neededFrom(told),
      withinMs: 600_000,
      caption(told) {
        const leader = leaderIn(told.now);
        return `${absent(told.start)} stopped at slot ${neededFrom(told) - 1}. The others are at slot ${leader?.commitPoint ?? 0}, and their logs have grown to their bound: they have let go of everything up to slot ${purgedTo(told)}. As long as there was room they kept it for ${absent(told.start)}; a log that is full would stop them all.`;
      },
      ifMissed:
        'Logs grow with what clients write: let more of them write, or wait longer at a higher speed.',
      rule: { module: 'Recovery', name: 'RelievePressure' },
      marks: ({ start }) => ({ replicas: [absent(start)] }),
    },
    {
      title: 'It is back, and needs what is in no log',
      acts: ({ start }) => [{ action: 'restart', replica: absent(start) }],
      awaits: ({ start }) => `${absent(start)} has found a way to catch up`,
      hasComeAbout: (told) => hasBegunCopy(told) || hasCaughtUp(told.now, absent(told.start), told.ends[0]!),
      withinMs: 120_000,
      caption(told) {
        const one = absent(told.start);
        const recovery = statusIn(told.now, one)?.recovery ?? null;
        return hasBegunCopy(told)
          ? `${one} asked for slot ${neededFrom({ ...told, now: told.ends[0]! })} and heard that nobody has it. Its database is whole, but old, and no log goes on from it: it takes that of ${recovery?.source ?? 'another'}, block by block, leaving out the blocks that are equal. It is still the same member with the same promises: its log was not lost.`
          : `${one} has caught up without a copy.`;
      },
      ifMissed: 'Look at what it says in its popover; whoever is to be copied may be away.',
      rule: { module: 'Recovery', name: 'NeedsCopy' },
      marks: ({ start }) => ({ replicas: [absent(start)] }),
    },
    {
      title: 'It has caught up',
      acts: () => [],
      awaits: ({ start }) => `${absent(start)} serves clients`,
      hasComeAbout: ({ start, ends, now }) => hasCaughtUp(now, absent(start), ends[0]!),
      withinMs: 240_000,
      caption({ start, ends, now }) {
        const one = absent(start);
        const [copy] = eventsIn(now, 'EndCopy', { of: one, afterMs: ends[0]!.atMs });
        const status = statusIn(now, one)!;
        return copy === undefined
          ? `${one} is at slot ${status.commitPoint}.`
          : `The copy from ${copy.source} was as of slot ${copy.slot}; everything behind it came by the log as usual, and ${one} is at slot ${status.commitPoint}. A copy is started only when all that its pages may reflect is chosen, and when the log goes on from there.`;
      },
      ifMissed: 'A copy takes as long as the database is large: wait longer.',
      rule: { module: 'Recovery', name: 'MayTakeCopy' },
      marks: ({ start }) => ({ replicas: [absent(start)] }),
    },
  ],

  answer({ start, ends }) {
    const one = absent(start);
    const last = ends.at(-1)!;
    const [copy] = eventsIn(last, 'EndCopy', { of: one, afterMs: start.atMs });
    const isAnother =
      (lastStatusIn(last, one)?.incarnation ?? 1) > (lastStatusIn(start, one)?.incarnation ?? 1);
    return {
      choice: isAnother ? 'anew' : copy === undefined ? 'log' : 'copy',
      happened:
        copy === undefined
          ? `${one} caught up by the log.`
          : `${one} took a copy from ${copy.source}, as of slot ${copy.slot}.`,
      why: `A log is for those that are away for a while; nobody can keep it for ever for one that may never come back. What the log has let go of is not lost: it is in every other database, durably, before any log may forget it. So the copy replaces the past, and the log what came since.`,
      rule: { module: 'Recovery', name: 'TakeCopy' },
    };
  },
};
