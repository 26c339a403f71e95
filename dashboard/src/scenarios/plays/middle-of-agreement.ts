/** The leader dies when an entry has some votes, and nobody has been told that it is chosen: what the next one makes of it. */
import { formatBallot } from '../../model/cluster-view.ts';
import { rolesIn, successorIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { leaderIn, lastStatusIn, replicaIn, type Seen, statusIn } from '../seen.ts';
import { ballotOf, listed } from '../words.ts';

/** What the one that votes answers is under way for that long. */
const delayMs = 2_000;

/** The newest entry that has the vote of one follower, and that the leader does not know to be chosen; null: there is none. */
function halfDone(start: Seen, seen: Seen): { readonly slot: number; readonly label: string } | null {
  const { leader, one } = rolesIn(start);
  const [known, voted] = [lastStatusIn(seen, leader), seen.logs.get(one)];
  if (known === null || voted === undefined) return null;
  const slots = [...voted.votes.keys()].filter((slot) => slot > known.commitPoint);
  const slot = Math.max(0, ...slots);
  const label = voted.votes.get(slot)?.label;
  return label === undefined ? null : { slot, label };
}

const entryOf = ({ start, ends }: Told) => halfDone(start, ends[1]!)!;
/** What is in that slot at whoever leads. */
const labelAt = (told: Told): string | null => {
  const next = successorIn(told);
  return next === null ? null : (told.now.logs.get(next)?.votes.get(entryOf(told).slot)?.label ?? null);
};

export const middleOfAgreement: Scenario = {
  id: 'middle-of-agreement',
  name: 'A crash in the middle of an agreement',
  promise: 'The leader dies when one other has voted for a write, and before it hears of that vote.',
  plays: 'simulated',
  replicas: { least: 3, most: 7 },
  needsWrites: true,

  question(start) {
    const { leader, one, others } = rolesIn(start);
    return {
      text: `A write reaches ${one} alone, which votes for it. ${leader} dies before it hears that, ${listed(others.slice(1))} never ${others.length === 2 ? 'hears' : 'hear'} of the write, and its client has no answer. Will it take effect?`,
      choices: [
        { id: 'kept', text: 'Yes: the next leader finds it and proposes it again' },
        { id: 'dropped', text: 'No: its leader is dead, and nobody was answered' },
        { id: 'waits', text: 'It waits for its leader to come back and finish it' },
      ],
    };
  },

  chapters: [
    {
      title: 'A vote is under way',
      acts({ start }) {
        const { leader, one, others } = rolesIn(start);
        return [
          { action: 'delay', from: one, to: leader, amount: delayMs },
          ...others.slice(1).map((to) => ({ action: 'cut' as const, from: leader, to, amount: 1 })),
        ];
      },
      awaits: ({ start }) =>
        `${rolesIn(start).one} has voted for something of which ${rolesIn(start).leader} does not know that it is chosen`,
      hasComeAbout: ({ start, now }) =>
        halfDone(start, now) !== null && leaderIn(now)?.id === rolesIn(start).leader,
      withinMs: 10_000,
      caption({ start, now }) {
        const { leader, one, others } = rolesIn(start);
        const { slot } = halfDone(start, now)!;
        return `${leader} has proposed up to slot ${slot} in ballot ${ballotOf(leaderIn(start))}, and knows that all is chosen up to ${statusIn(now, leader)?.commitPoint ?? 0}. ${one} has voted for slot ${slot}, durably; its vote needs ${delayMs / 1000} s to ${leader}. ${listed(others.slice(1))} ${others.length === 2 ? 'has' : 'have'} not heard of it. Whether it is chosen is decided by votes on disks, and not by who knows of them.`;
      },
      ifMissed: 'Do clients write? Without writes there is no agreement to break.',
      rule: { module: 'MultiPaxos', name: 'Propose' },
      marks: ({ start }) => ({
        replicas: [rolesIn(start).one],
        links: [{ from: rolesIn(start).one, to: rolesIn(start).leader }],
      }),
    },
    {
      title: 'The leader dies',
      acts: ({ start }) => [{ action: 'crash', replica: rolesIn(start).leader }, { action: 'heal' }],
      awaits: ({ start }) => `${rolesIn(start).leader} is gone`,
      hasComeAbout: ({ start, now }) =>
        replicaIn(now, rolesIn(start).leader)?.process === 'stopped' && halfDone(start, now) !== null,
      withinMs: 10_000,
      caption(told) {
        const { leader, one } = rolesIn(told.start);
        const { slot, label } = halfDone(told.start, told.now)!;
        return `${leader} is gone, and with it whoever waited for its answer. The entry ${label} in slot ${slot} is on the disk of ${one}, with the ballot ${ballotOf(rolesIn(told.start))} beside it. Nothing says whether it was chosen.`;
      },
      ifMissed: 'The leader may have changed before it was killed: begin again.',
      rule: { module: 'MultiPaxos', name: 'PromiseDurable' },
      marks: ({ start }) => ({ replicas: [rolesIn(start).one] }),
    },
    {
      title: 'The next leader asks what was voted for',
      acts: () => [],
      awaits: (told) => `somebody leads and knows slot ${entryOf(told).slot} to be chosen`,
      hasComeAbout(told) {
        const next = successorIn(told);
        return (
          next !== null &&
          (statusIn(told.now, next)?.commitPoint ?? 0) >= entryOf(told).slot &&
          labelAt(told) !== null
        );
      },
      withinMs: 60_000,
      caption(told) {
        const next = leaderIn(told.now)!;
        const { slot, label } = entryOf(told);
        const found = labelAt(told);
        return found === label
          ? `${next.id} leads in ballot ${formatBallot(next.ballot)}. The promises that it was given told of the vote for ${label}, so it proposed that very entry again in slot ${slot}, in its own ballot, before anything of its own. It could not know whether it had been chosen, and need not: where it may have been, it must be taken.`
          : `${next.id} leads in ballot ${formatBallot(next.ballot)}, and in slot ${slot} is ${found}: none of those that promised had voted for ${label}, so a majority had not, and it was free to put something else there.`;
      },
      ifMissed:
        'A majority must be up: look at the stage for a second replica that is down, and wait longer.',
      rule: { module: 'MultiPaxos', name: 'FirstProposals' },
      marks: (told) => ({ replicas: [successorIn(told)].filter((id) => id !== null) }),
    },
  ],

  answer(told) {
    const last = { ...told, now: told.ends.at(-1)! };
    const { slot, label } = entryOf(last);
    const isKept = labelAt(last) === label;
    const { one, others } = rolesIn(told.start);
    return {
      choice: isKept ? 'kept' : 'dropped',
      happened: isKept
        ? `Slot ${slot} holds ${label}, under the new leader’s ballot.`
        : `Slot ${slot} holds ${labelAt(last) ?? 'something else'}.`,
      why:
        others.length === 2
          ? `${one} and the dead leader are a majority, so it was chosen, though nobody knew. Any majority shares a replica with that one: the next leader needs the promise of ${one}, and so hears of it. The client is told nothing by a dead leader, and may ask the next one what became of its transaction.`
          : `Its two votes are no majority of ${others.length + 1}, so both would have been right: it is kept if the next leader’s promises happen to include ${one}. Nobody was told anything that is not so.`,
      rule: { module: 'MultiPaxos', name: 'Pick' },
    };
  },
};
