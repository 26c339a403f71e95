/** A leader that was frozen wakes, and believes that it leads: what it can still do with that belief. */
import { compareBallots } from '../../model/cluster-view.ts';
import { hasCaughtUp, rolesIn, successorIn } from '../roles.ts';
import { hasHarmBetween, spellReads } from '../load-words.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, lastStatusIn, leaderIn, replicaIn, type Rival, statusIn } from '../seen.ts';
import { ballotOf, listed, seconds } from '../words.ts';

/** The woken leader, seen to lead and serve in its old ballot while another one did. */
const rivalIn = ({ start, ends, now }: Pick<Told, 'start' | 'ends' | 'now'>): Rival | null => {
  const { leader, ballot } = rolesIn(start);
  const isIt = (one: Rival): boolean => one.id === leader && compareBallots(one.ballot, ballot) === 0;
  return now.rivals.find((one) => isIt(one) && one.atMs > ends[0]!.atMs) ?? null;
};
const spellRivalry = (told: Pick<Told, 'start' | 'ends' | 'now'>): string => {
  const { leader } = rolesIn(told.start);
  const rival = rivalIn(told);
  return rival === null
    ? `It was not seen to say that it serves while ${leaderIn(told.ends[0]!)!.id} did.`
    : `Up to ${seconds(rival.atMs - told.ends[0]!.atMs)} after the election ${leader} was seen to say that it leads and serves in ballot ${ballotOf(rival)}, as another one did in its own.`;
};

export const frozenLeader: Scenario = {
  id: 'frozen-leader',
  name: 'A frozen leader comes back',
  promise:
    'The leader’s process stands still for so long that it is replaced; then it wakes, and knows nothing of that.',
  plays: 'live',
  replicas: { least: 3, most: 9 },
  needsWrites: false,

  question(start) {
    const { leader } = rolesIn(start);
    return {
      text: `${leader} is frozen while it leads, and wakes when another one has been elected. To itself no time has passed. What does it do?`,
      choices: [
        { id: 'gives-up', text: 'It gives up as soon as it hears of a higher ballot' },
        { id: 'both', text: 'Both lead, each for its own clients' },
        { id: 'takes-back', text: 'It takes the leadership back: it was there first' },
      ],
    };
  },

  chapters: [
    {
      title: 'The leader is frozen, and replaced',
      acts: ({ start }) => [{ action: 'pause', replica: rolesIn(start).leader }],
      awaits: ({ start }) =>
        `${listed(rolesIn(start).others, 'or')} leads while ${rolesIn(start).leader} is frozen`,
      hasComeAbout: (told) =>
        successorIn(told) !== null && replicaIn(told.now, rolesIn(told.start).leader)?.process === 'paused',
      withinMs: 60_000,
      caption({ start, now }) {
        const { leader } = rolesIn(start);
        const next = leaderIn(now)!;
        return `${next.id} leads in ballot ${ballotOf(next)}. ${leader} is as it was: its last words were that it leads, in ballot ${ballotOf(lastStatusIn(now, leader))}. It could not even let its lease go. But a lease ends by the clock: a majority’s word to ${leader} had run out before anybody promised ${next.id} anything.`;
      },
      ifMissed:
        'A majority must be up and reach each other: look at the stage for another replica that is down.',
      rule: { module: 'Lease', name: 'LeaseHeld' },
      marks: ({ start, now }) => ({
        replicas: [rolesIn(start).leader, leaderIn(now)?.id].filter((id) => id !== undefined),
      }),
    },
    {
      title: 'It wakes',
      acts: ({ start }) => [{ action: 'resume', replica: rolesIn(start).leader }],
      awaits: ({ start }) => `${rolesIn(start).leader} has heard of another ballot than its own`,
      hasComeAbout({ start, now }) {
        const { leader, ballot } = rolesIn(start);
        const status = statusIn(now, leader);
        return status !== null && compareBallots(status.ballot, ballot) > 0;
      },
      withinMs: 60_000,
      caption({ start, ends, now }) {
        const { leader, ballot } = rolesIn(start);
        const status = statusIn(now, leader)!;
        const afterMs = ends[0]!.atMs;
        const [rejected] = eventsIn(now, 'HandleReject', { of: leader, afterMs });
        const [stepped] = eventsIn(now, 'StepDown', { of: leader, afterMs });
        const how =
          rejected !== undefined
            ? `what it asked for was refused by ${rejected.from ?? 'another'}, which had promised a higher ballot`
            : stepped !== undefined
              ? 'it found that no majority had been heard from in time, and gave up by itself'
              : 'a message in the higher ballot was enough';
        return `${leader} was in ballot ${ballotOf({ ballot })} when it fell asleep, and is ${status.role} in ballot ${ballotOf(status)} now: ${how}. ${spellRivalry({ start, ends, now })} ${spellReads(ends[0]!, now)} Before each answer the lease is looked at again, on its own clock, and that clock had gone on.`;
      },
      ifMissed: 'Look whether it was resumed, and whether its links are whole.',
      rule: { module: 'Lease', name: 'MayAnswer' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
    {
      title: 'It finds its place again',
      acts: () => [],
      awaits: ({ start }) => `${rolesIn(start).leader} serves clients again`,
      hasComeAbout: ({ start, ends, now }) => hasCaughtUp(now, rolesIn(start).leader, ends[1]!),
      withinMs: 180_000,
      caption({ start, ends, now }) {
        const { leader } = rolesIn(start);
        const status = statusIn(now, leader)!;
        const copied = eventsIn(now, 'EndCopy', { of: leader, afterMs: ends[0]!.atMs }).length > 0;
        const database = copied
          ? 'Its PostgreSQL had written what was never chosen, so the blocks that differed were copied from another'
          : 'Its PostgreSQL held nothing that was not chosen, and went on as a standby';
        return `${leader} is ${status.role} in ballot ${ballotOf(status)}. ${status.role === 'leader' ? 'It was elected anew, in a ballot of its own.' : `${database}.`}`;
      },
      ifMissed: 'It may be copying its database: wait longer.',
      rule: { module: 'MultiPaxos', name: 'BecomeFollower' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).leader] }),
    },
  ],

  answer({ start, ends }) {
    const { leader } = rolesIn(start);
    const woke = { start, ends, now: ends[1]! };
    const isBoth = rivalIn(woke) !== null && hasHarmBetween(ends[0]!, ends.at(-1)!);
    const [elected, woken] = [leaderIn(ends[0]!)!, statusIn(ends[1]!, leader)!];
    const isHigher = compareBallots(woken.ballot, elected.ballot) > 0 && woken.ballot.replica === leader;
    return {
      choice: isBoth ? 'both' : woken.role !== 'leader' ? 'gives-up' : isHigher ? 'takes-back' : 'both',
      happened: `${leader} woke as leader of ballot ${ballotOf(rolesIn(start))}, and was ${woken.role} in ballot ${ballotOf(woken)} when it had heard of another. ${spellRivalry(woke)}${isBoth ? ' And clients have missed something since.' : ''}`,
      why: `Nobody asks a leader to go, and nobody has to reach it. A majority has promised ${elected.id} to vote in no ballot below ${ballotOf(elected)}, so whatever ${leader} still proposes in its own cannot be chosen, and what it read it may not tell, since its lease is over.`,
      rule: { module: 'Lease', name: 'LeaseExcludes' },
    };
  },
};
