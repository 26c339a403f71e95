/** A replica hears its leader no more, while the leader hears it: what it may do about that. */
import { compareBallots } from '../../model/cluster-view.ts';
import { replicaOf } from '../../model/incarnation.ts';
import { rolesIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, leaderIn, type Seen, statusIn } from '../seen.ts';
import { ballotOf, listed } from '../words.ts';

/** That many slots more: the group goes on. */
const slotsOn = 12;

const deaf = (start: Seen) => rolesIn(start).one;
const isLost = ({ start, now }: Told): boolean => {
  const status = statusIn(now, deaf(start));
  return status !== null && (status.leader !== rolesIn(start).leader || status.state === 'noLeader');
};

/** Since the link was cut. */
const electionsIn = (told: Told, name: 'StartElection' | 'BecomeLeader') =>
  eventsIn(told.now, name, { afterMs: told.start.atMs });
const spellElections = (told: Told): string => {
  const became = electionsIn(told, 'BecomeLeader').at(-1);
  const stood = [...new Set(electionsIn(told, 'StartElection').map(({ replica }) => replicaOf(replica)))];
  const { leader, ballot } = rolesIn(told.start);
  const next = leaderIn(told.now);
  if (became !== undefined)
    return `${replicaOf(became.replica)} was elected meanwhile, in ballot ${ballotOf(became.state)}.`;
  if (next !== null && compareBallots(next.ballot, ballot) !== 0)
    return `${next.id} leads now, in ballot ${ballotOf(next)}.`;
  return stood.length === 0
    ? 'Nobody has stood for election since the cut.'
    : `${listed(stood)} stood for election meanwhile, in vain: ${leader} leads on in ballot ${ballotOf({ ballot })}.`;
};

export const oneWayCut: Scenario = {
  id: 'one-way-cut',
  name: 'A one-way cut',
  promise: 'One replica hears the leader no more, though the leader still hears it.',
  plays: 'live',
  replicas: { least: 3, most: 9 },
  needsWrites: true,

  question(start) {
    const { leader, one, others } = rolesIn(start);
    return {
      text: `Nothing from ${leader} will reach ${one}; what ${one} says still reaches ${leader}, and ${listed(others.slice(1))} ${others.length === 2 ? 'hears' : 'hear'} both. What comes of it?`,
      choices: [
        { id: 'leads', text: `${one} takes over: it has waited long enough` },
        { id: 'goes-on', text: `${leader} leads on, and nobody votes for ${one}` },
        { id: 'stops', text: 'Nothing is agreed on any more until the link is mended' },
      ],
    };
  },

  chapters: [
    {
      title: 'The link is cut, one way',
      acts: ({ start }) => [{ action: 'cut', from: rolesIn(start).leader, to: deaf(start), amount: 1 }],
      awaits: ({ start }) => `${deaf(start)} takes ${rolesIn(start).leader} for its leader no more`,
      hasComeAbout: isLost,
      withinMs: 30_000,
      caption({ start, now }) {
        const { leader, one } = rolesIn(start);
        const status = statusIn(now, one)!;
        return `${one} has heard nothing from ${leader} for so long that its word to it has run out: it takes ${status.leader ?? 'nobody'} for its leader now. ${leader} knows nothing of that: every heartbeat leaves as before.`;
      },
      ifMissed: 'Look whether the link on the stage is drawn as cut; the leader may have changed meanwhile.',
      rule: { module: 'Lease', name: 'Forbids' },
      marks: ({ start }) => ({
        replicas: [deaf(start)],
        links: [{ from: rolesIn(start).leader, to: deaf(start) }],
      }),
    },
    {
      title: 'The others go on, or follow it',
      acts: () => [],
      awaits: () => `somebody leads, ${slotsOn} slots further on`,
      hasComeAbout({ ends, now }) {
        const leader = leaderIn(now);
        return leader !== null && leader.commitPoint >= pointOf(ends[0]!) + slotsOn;
      },
      withinMs: 60_000,
      caption(told) {
        const { start, ends, now } = told;
        const { leader, one, others } = rolesIn(start);
        const next = leaderIn(now)!;
        const stood = eventsIn(now, 'StartElection', { of: one, afterMs: start.atMs }).length;
        const attempts =
          stood === 0
            ? `${one} asks beforehand whether anybody would vote for it, and hears no`
            : `${one} has stood ${stood} times`;
        return next.id === leader
          ? `${attempts}: ${listed(others.slice(1))} still ${others.length === 2 ? 'hears' : 'hear'} ${leader}, and ${others.length === 2 ? 'has' : 'have'} given it ${others.length === 2 ? 'its' : 'their'} word. So ${leader} leads on in ballot ${ballotOf(next)}; since the cut was noticed ${next.commitPoint - pointOf(ends[0]!)} slots were chosen without ${one}.`
          : `${next.id} leads now, in ballot ${ballotOf(next)}: it had a majority’s promises.`;
      },
      ifMissed:
        'Do clients write? Without writes the commit point does not move: look at what the load says below.',
      rule: { module: 'Lease', name: 'LeaseKeepsOffice' },
      marks: ({ now }) => ({ replicas: [leaderIn(now)?.id].filter((id) => id !== undefined) }),
    },
    {
      title: 'The link is mended',
      acts: () => [{ action: 'heal' }],
      awaits: ({ start }) => `${deaf(start)} follows again and has what it missed`,
      hasComeAbout({ start, ends, now }) {
        const status = statusIn(now, deaf(start));
        const leader = leaderIn(now);
        return (
          status !== null &&
          leader !== null &&
          (status.id === leader.id || status.leader === leader.id) &&
          status.state === 'serving' &&
          status.commitPoint >= pointOf(ends[1]!)
        );
      },
      withinMs: 60_000,
      caption(told) {
        const status = statusIn(told.now, deaf(told.start))!;
        const place = status.role === 'leader' ? 'leads' : `hears ${status.leader ?? 'a leader'} again`;
        return `${status.id} ${place}, in ballot ${ballotOf(status)}, and is at slot ${status.commitPoint}: what it missed it was sent. ${spellElections(told)}`;
      },
      ifMissed: 'Look whether every link is mended, and wait longer.',
      rule: { module: 'MultiPaxos', name: 'MayCatchUp' },
      marks: ({ start }) => ({ replicas: [deaf(start)] }),
    },
  ],

  answer(told) {
    const { start, ends } = told;
    const { leader, ballot, one } = rolesIn(start);
    const after = leaderIn(ends[1]!)!;
    const isSame = after.id === leader && compareBallots(after.ballot, ballot) === 0;
    return {
      choice: after.id === one ? 'leads' : after.id === leader ? 'goes-on' : null,
      happened: isSame
        ? `${leader} has led all the time, in ballot ${ballotOf(after)}.`
        : `${after.id} leads, in ballot ${ballotOf(after)}.`,
      why: isSame
        ? `A replica that hears its leader promises nothing to anybody else, so one that has lost touch cannot depose a leader whom a majority hears${electionsIn(told, 'StartElection').length > 0 ? '' : '; and since it asks beforehand whether an election would succeed, it does not even raise the ballot'}.`
        : `A majority has promised ${after.id}, so its word to ${leader} had run out or was let go: whoever still hears its leader promises nothing to anybody else.`,
      rule: { module: 'Lease', name: 'Forbids' },
    };
  },
};

function pointOf(seen: Seen): number {
  return Math.max(0, ...seen.cluster.replicas.map(({ status }) => status?.commitPoint ?? 0));
}
