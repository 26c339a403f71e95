/** A leader that nobody hears writes on: its PostgreSQL has WAL that nobody else has, and that can never be chosen. */
import { hasCaughtUp, rolesIn, successorIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, lastStatusIn, leaderIn, type Seen, statusIn } from '../seen.ts';
import { ballotOf, listed } from '../words.ts';
import { formatBytes } from '../../model/format.ts';
import { answeredBetween, spellKept } from '../load-words.ts';

const unchosenAt = (seen: Seen, id: string): number => lastStatusIn(seen, id)?.wal?.unchosenBytes ?? 0;
/** What was found of the old leader's WAL; null: it was not looked at yet. */
const verdictOf = ({ start, ends, now }: Told): 'standby' | 'parted' | null => {
  const afterMs = ends[2]?.atMs ?? start.atMs;
  const found = eventsIn(now, 'CheckPrefix', { of: rolesIn(start).leader, afterMs })
    .map(({ outcome }) => outcome)
    .findLast((outcome) => outcome !== 'undecided');
  return found ?? null;
};
const copiesOf = ({ start, now }: Told) =>
  eventsIn(now, 'EndCopy', { of: rolesIn(start).leader, afterMs: start.atMs });
const isCopying = ({ start, now }: Told): boolean =>
  statusIn(now, rolesIn(start).leader)?.recovery?.phase === 'copying';

export const unchosenWal: Scenario = {
  id: 'unchosen-wal',
  name: 'The old leader’s unchosen WAL',
  promise: 'A leader that is cut off has written what nobody else has; when it is back, that is undone.',
  plays: 'live',
  replicas: { least: 3, most: 9 },
  needsWrites: true,

  question(start) {
    const { leader, others } = rolesIn(start);
    return {
      text: `${leader} is cut off from ${listed(others)} while clients write to it: its PostgreSQL has their commits in its WAL, and nobody else has. Another one leads. When ${leader} is back, what becomes of that WAL?`,
      choices: [
        { id: 'sent', text: 'It is sent to the others: what is written is written' },
        { id: 'rewound', text: 'It is undone: the database is rewound to what was chosen' },
        { id: 'kept', text: 'It stays at that replica alone, which differs from then on' },
      ],
    };
  },

  chapters: [
    {
      title: 'Clients write, and are answered',
      acts: () => [],
      // A leader that nobody hears gives up in seconds: if clients came only then, it would have written nothing.
      awaits: () => 'a write of a client is answered',
      hasComeAbout: ({ start, now }) => answeredBetween(start, now) !== 0,
      withinMs: 60_000,
      caption({ start, now }) {
        const { leader, others } = rolesIn(start);
        const answered = answeredBetween(start, now);
        const count =
          answered === null
            ? 'No load runs here, so it is not seen whether a client writes'
            : `${answered} ${answered === 1 ? 'write was' : 'writes were'} answered since it began`;
        return `${count}. The PostgreSQL of ${leader} writes a commit into its WAL, the WAL goes to ${listed(others)}, and the commit is let go when a majority has voted for it.`;
      },
      ifMissed: 'Do clients write? Look at what the load says below, and wait longer.',
      rule: { module: 'OrderedApply', name: 'Release' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
    {
      title: 'The leader is cut off and writes alone',
      acts: ({ start }) => [{ action: 'isolate', replica: rolesIn(start).leader }],
      awaits: ({ start }) => `the PostgreSQL of ${rolesIn(start).leader} has WAL that is not chosen`,
      hasComeAbout: ({ start, now }) => {
        const { leader } = rolesIn(start);
        return statusIn(now, leader) !== null && isCutOff(now, leader) && unchosenAt(now, leader) > 0;
      },
      withinMs: 30_000,
      caption({ start, now }) {
        const { leader } = rolesIn(start);
        return `${leader} has ${formatBytes(unchosenAt(now, leader))} of WAL beyond what is chosen. The commits in it wait: PostgreSQL has written them, and their clients get no answer before a majority has voted for them. None will, for nobody hears ${leader}.`;
      },
      ifMissed:
        'Has it given up to lead before a client wrote to it? Make everything whole, look at what the load says below, and begin it again.',
      rule: { module: 'OrderedApply', name: 'ReleasedIsChosen' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
    {
      title: 'The others go on without it',
      acts: () => [],
      awaits: ({ start }) => `${listed(rolesIn(start).others, 'or')} leads and serves clients`,
      hasComeAbout: (told) => successorIn(told) !== null,
      withinMs: 60_000,
      caption({ start, now }) {
        const { leader } = rolesIn(start);
        const next = leaderIn(now)!;
        const old = statusIn(now, leader);
        const itself =
          old === null
            ? 'says nothing'
            : old.role === 'leader'
              ? 'still takes itself for the leader'
              : `is ${old.role} and has stopped its primary`;
        return `${next.id} leads in ballot ${ballotOf(next)}, on timeline ${next.wal?.timeline ?? '–'}: history goes on from the last chosen byte, and what ${leader} wrote beyond it is on a branch of its own. ${leader} ${itself}.`;
      },
      ifMissed: 'The others must be a majority and reach each other: look at the stage.',
      rule: { module: 'OrderedApply', name: 'Depose' },
      marks: ({ start, now }) => ({ replicas: [leaderIn(now)?.id ?? rolesIn(start).one] }),
    },
    {
      title: 'It is back, and its WAL is judged',
      acts: () => [{ action: 'heal' }],
      awaits: ({ start }) => `${rolesIn(start).leader} has compared its WAL with what was chosen`,
      hasComeAbout: (told) => verdictOf(told) !== null || isCopying(told) || copiesOf(told).length > 0,
      withinMs: 60_000,
      caption(told) {
        const { leader } = rolesIn(told.start);
        if (verdictOf(told) === null)
          return `${leader} copies its database, or has done so: what it found of its own WAL was not told, so this may be for another reason than that it parts from what was chosen.`;
        return verdictOf(told) === 'standby'
          ? `${leader} has found nothing in its WAL that was not chosen: what it had written beyond was not on disk when its PostgreSQL was stopped. It goes on as a standby as it is.`
          : `${leader} has found that its WAL parts from what was chosen: it holds ${formatBytes(unchosenAt(told.ends[1]!, leader))} or so that a later leadership has overruled. It may not be started as a standby like that: its pages may hold what never happened.`;
      },
      ifMissed: 'Look whether its links are mended, and wait longer.',
      rule: { module: 'OrderedApply', name: 'HasParted' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
    {
      title: 'It is rewound',
      acts: () => [],
      awaits: ({ start }) => `${rolesIn(start).leader} serves clients again`,
      hasComeAbout: ({ start, ends, now }) => hasCaughtUp(now, rolesIn(start).leader, ends[3]!),
      withinMs: 240_000,
      caption(told) {
        const { leader } = rolesIn(told.start);
        const [copy] = copiesOf(told);
        const status = statusIn(told.now, leader)!;
        return copy === undefined
          ? `${leader} is ${status.role} on timeline ${status.wal?.timeline ?? '–'}, with the database that it had.`
          : `${leader} took from ${copy.source} the blocks that differ, as of slot ${copy.slot}, and is ${status.role} on timeline ${status.wal?.timeline ?? '–'} now. What it had written alone is gone. ${spellKept(told.now, told.ends[3]!.atMs)}`;
      },
      ifMissed: 'A copy takes as long as the database is large: wait longer.',
      rule: { module: 'OrderedApply', name: 'EndCopy' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
  ],

  answer(told) {
    const last = { ...told, now: told.ends.at(-1)! };
    const { leader } = rolesIn(told.start);
    const fate = fateOf(last);
    return {
      choice: fate,
      happened: `${happenedTo(leader, fate)} ${spellKept(last.now, told.ends[3]!.atMs)}`,
      why: `What is committed is what a majority has voted for, and not what is in a PostgreSQL. A commit returns to its client only when that is so; so WAL that no majority voted for was promised to nobody, and giving it up breaks no word. To keep it would make one database differ from the others for ever.`,
      rule: { module: 'OrderedApply', name: 'AnsweredIsChosen' },
    };
  },
};

/** Of what the old leader had written alone; null: nothing of it was found, so there is nothing to undo. */
function fateOf(told: Told): 'rewound' | 'kept' | null {
  const { leader } = rolesIn(told.start);
  if (copiesOf(told).length > 0) return 'rewound';
  if (verdictOf(told) !== 'parted') return null;
  return unchosenAt(told.now, leader) > 0 ? 'kept' : 'rewound';
}

function happenedTo(leader: string, fate: 'rewound' | 'kept' | null): string {
  if (fate === 'rewound') return `${leader} was rewound to what was chosen.`;
  return fate === 'kept'
    ? `${leader} serves again, and still has what was never chosen: it differs from the others. That must not be.`
    : `Nothing had to be undone this time: nothing was found in the WAL of ${leader} that was not chosen.`;
}

function isCutOff({ cluster }: Seen, id: string): boolean {
  const cut = cluster.replicas.flatMap(({ status }) => status?.faults ?? []).filter((fault) => fault.cut);
  return cut.some(({ from }) => from === id) && cut.some(({ to }) => to === id);
}
