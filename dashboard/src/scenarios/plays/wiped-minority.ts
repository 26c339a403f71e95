/** Disks of a minority are lost: who has forgotten what it promised may not vote as if it were the same. */
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { incarnationName } from '../../model/incarnation.ts';
import { hasCaughtUp, minorityOf, rolesIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, idsIn, leaderIn, type Seen, statusIn } from '../seen.ts';
import { listed } from '../words.ts';

const wipedIn = (start: Seen): readonly ReplicaId[] =>
  rolesIn(start).others.slice(0, minorityOf(idsIn(start).length));

const lifeIn = (seen: Seen, id: string) =>
  leaderIn(seen)?.membership.members.find(({ replica }) => replica === id) ?? null;
const lifeBefore = ({ start }: Told, id: string): number => lifeIn(start, id)?.incarnation ?? 1;

/** As the leader has it; null: it knows only of the life before. */
const newLife = (told: Told, id: string) => {
  const life = lifeIn(told.now, id);
  return life === null || life.incarnation <= lifeBefore(told, id) ? null : life;
};
const named = (told: Told): string =>
  listed(wipedIn(told.start).map((id) => incarnationName(id, newLife(told, id)?.incarnation ?? 1)));

/** In which part it was let in, by the configuration that was proposed for it; else as it was seen first. */
function admittedAs(told: Told, id: string): 'learner' | 'voter' | null {
  const life = newLife({ ...told, now: told.ends[0] ?? told.now }, id);
  if (life === null) return null;
  const name = incarnationName(id, life.incarnation);
  const proposed = eventsIn(told.now, 'Reconfigure', { afterMs: told.start.atMs })
    .flatMap(({ configurations = [] }) => configurations)
    .find(({ voters, learners }) => [...voters, ...learners].some((member) => member === name));
  if (proposed === undefined) return life.role;
  return proposed.learners.some((member) => member === name) ? 'learner' : 'voter';
}

/** From somebody whom it has found. */
function isCopying(seen: Seen, id: string): boolean {
  const recovery = statusIn(seen, id)?.recovery ?? null;
  return recovery?.phase === 'copying' && recovery.source !== null && recovery.bytesTotal !== null;
}

export const wipedMinority: Scenario = {
  id: 'wiped-minority',
  name: 'Wipe of a minority',
  promise:
    'A replica loses its disk: its log, its votes and its database. The group gives it all of that again.',
  plays: 'live',
  replicas: { least: 3, most: 9 },
  needsWrites: false,

  question(start) {
    const wiped = wipedIn(start);
    const [it, its] = wiped.length === 1 ? ['it', 'its'] : ['they', 'their'];
    return {
      text: `The disk of ${listed(wiped)} is lost, and ${it} ${wiped.length === 1 ? 'starts' : 'start'} with nothing. What ${wiped.length === 1 ? 'is it' : 'are they'} to the group then?`,
      choices: [
        {
          id: 'voter',
          text: `What ${it} ${wiped.length === 1 ? 'was' : 'were'}: a voter at once, with an empty log`,
        },
        {
          id: 'learner',
          text: `Somebody new, without a vote until ${it} ${wiped.length === 1 ? 'has' : 'have'} everything`,
        },
        { id: 'gone', text: `Nobody, until an operator takes ${its} name out and in again` },
      ],
    };
  },

  chapters: [
    {
      title: 'The disk is lost',
      acts: ({ start }) =>
        wipedIn(start).map((replica) => ({ action: 'wipe' as const, replica, what: 'both' as const })),
      awaits: ({ start }) => `the group has let ${listed(wipedIn(start))} in again, in whatever part`,
      hasComeAbout: (told) => wipedIn(told.start).every((id) => newLife(told, id) !== null),
      withinMs: 60_000,
      caption(told) {
        const roles = wipedIn(told.start).flatMap((id) => admittedAs(told, id) ?? []);
        const wiped = wipedIn(told.start);
        return `${listed(wiped)} came back with an empty disk and asked to be let in. The members agreed on a configuration in which ${wiped.length === 1 ? 'it is' : 'they are'} ${named(told)}, ${listed([...new Set(roles)])}: to consensus somebody else. The votes of the life before are forgotten, and whoever counted on them must not hear another answer from the same name.`;
      },
      ifMissed: 'It is let in by the leader: is there one, and does it reach the replica?',
      rule: { module: 'Recovery', name: 'RoleOfNewLife' },
      marks: ({ start }) => ({ replicas: wipedIn(start) }),
    },
    {
      title: 'Its database is copied',
      acts: () => [],
      awaits: ({ start }) => `${listed(wipedIn(start))} receives a database, or has one`,
      hasComeAbout: (told) =>
        wipedIn(told.start).every(
          (id) =>
            isCopying(told.now, id) ||
            eventsIn(told.now, 'EndCopy', { of: id, afterMs: told.start.atMs }).length > 0 ||
            hasCaughtUp(told.now, id, told.ends[0]!),
        ),
      withinMs: 120_000,
      caption(told) {
        const copies = wipedIn(told.start).map((id) => {
          const recovery = statusIn(told.now, id)?.recovery;
          if (recovery?.phase !== 'copying') return `${id} has its copy already`;
          const part = recovery.percent === null ? '' : `, ${Math.round(recovery.percent)}% of it there`;
          return `${id} copies the database of ${recovery.source ?? 'another'}${part}`;
        });
        const leader = leaderIn(told.now);
        return `${listed(copies)}. Meanwhile ${leader?.id ?? 'nobody'} ${leader === null ? 'leads' : `goes on choosing, at slot ${leader.commitPoint} now`}: a majority of the voters is still there. The log that the copy needs behind it is kept for it.`;
      },
      ifMissed: 'Whoever is to be copied may be away: look at what it says in its popover, and wait longer.',
      rule: { module: 'Recovery', name: 'MayTakeCopy' },
      marks: ({ start }) => ({ replicas: wipedIn(start) }),
    },
    {
      title: 'It votes again',
      acts: () => [],
      awaits: ({ start }) => `${listed(wipedIn(start))} is a voter that has caught up`,
      hasComeAbout: (told) =>
        wipedIn(told.start).every(
          (id) => newLife(told, id)?.role === 'voter' && hasCaughtUp(told.now, id, told.ends[0]!),
        ),
      withinMs: 240_000,
      caption(told) {
        return `${named(told)} ${wipedIn(told.start).length === 1 ? 'has' : 'have'} all that was chosen, and only now the members have agreed to count ${wipedIn(told.start).length === 1 ? 'its vote' : 'their votes'}. Another disk may be lost from here on.`;
      },
      ifMissed: 'A copy takes as long as the database is large: wait longer.',
      rule: { module: 'Recovery', name: 'Promote' },
      marks: ({ start }) => ({ replicas: wipedIn(start) }),
    },
  ],

  answer(told) {
    const [first] = wipedIn(told.start);
    const role = admittedAs(told, first!);
    return {
      choice: role,
      happened: `${named({ ...told, now: told.ends.at(-1)! })} came in as ${role === null ? 'nobody' : role === 'learner' ? 'learner, without a vote' : 'voter'}, and counts again now.`,
      why: `An acceptor that has forgotten its promises would answer an old candidate as if it had never promised a newer one: two majorities could then decide two things in one slot. So the old name with its votes is given up for good, and the new one first learns.`,
      rule: { module: 'Recovery', name: 'OnlyNewestLifeVotes' },
    };
  },
};
