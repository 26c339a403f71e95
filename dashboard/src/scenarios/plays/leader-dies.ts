/** The leader is killed: who leads next, and what the others needed of each other for that. */
import { compareBallots, formatBallot } from '../../model/cluster-view.ts';
import { replicaOf } from '../../model/incarnation.ts';
import { rolesIn, successorIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, leaderIn, replicaIn, type Seen, statusIn } from '../seen.ts';
import { ballotOf, listed, seconds } from '../words.ts';

const namedMax = 3;

/** So many are asked for by name that a question has four choices at most. */
const rolesOf = (start: Seen) => {
  const { leader, others } = rolesIn(start);
  const named = others.length <= namedMax ? others : others.slice(0, namedMax - 1);
  return { leader, others, named, rest: others.filter((id) => !named.includes(id)) };
};

function electionOf(told: Told): string {
  const next = leaderIn(told.now)!;
  const afterMs = told.start.atMs;
  const promises = eventsIn(told.now, 'HandlePromise', { of: next.id, afterMs })
    .filter(({ message }) => message?.kind === 'Promise' && compareBallots(message.ballot, next.ballot) === 0)
    .flatMap(({ from }) => (from === undefined ? [] : [replicaOf(from)]));
  const from = [...new Set(promises)].filter((id) => id !== next.id);
  const granted =
    from.length === 0 ? 'a majority has' : `${listed(from)} ${from.length === 1 ? 'has' : 'have'}`;
  return `${next.id} was the first to ask, in ballot ${formatBallot(next.ballot)}, and ${granted} promised to answer no lower one.`;
}

/** By what both have told of themselves, however long a reader looked at the chapter before. */
function silenceUntil({ start, now }: Told, next: string): string {
  const { leader } = rolesOf(start);
  const lastUs = now.lastWords.get(leader);
  const served = eventsIn(now, 'Serve', { of: next, afterMs: start.atMs }).at(-1);
  if (lastUs === undefined || served === undefined || served.atUs <= lastUs) return `${next} leads now.`;
  return `${seconds((served.atUs - lastUs) / 1000)} behind the last word of ${leader}, ${next} led.`;
}

export const leaderDies: Scenario = {
  id: 'leader-dies',
  name: 'The leader dies',
  promise: 'The leader is killed; the others notice by its silence alone, and one of them is elected.',
  plays: 'live',
  replicas: { least: 3, most: 9 },
  needsWrites: false,

  question(start) {
    const { leader, named, rest } = rolesOf(start);
    return {
      text: `${leader} leads in ballot ${ballotOf(leaderIn(start))}. Its process is about to be killed. Who will lead?`,
      choices: [
        ...named.map((id) => ({ id, text: id })),
        ...(rest.length === 0 ? [] : [{ id: 'rest', text: listed(rest, 'or') }]),
        { id: 'nobody', text: `Nobody, until ${leader} is back` },
      ],
    };
  },

  chapters: [
    {
      title: 'The leader is killed',
      acts: ({ start }) => [{ action: 'crash', replica: rolesOf(start).leader }],
      awaits: ({ start }) => `the process of ${rolesOf(start).leader} is gone`,
      hasComeAbout: ({ start, now }) => replicaIn(now, rolesOf(start).leader)?.process === 'stopped',
      withinMs: 20_000,
      caption({ start, now }) {
        const { leader, others } = rolesOf(start);
        const loyal = others.filter((id) => statusIn(now, id)?.leader === leader);
        const ballot = ballotOf(leaderIn(start));
        return loyal.length === 0
          ? `${leader} is gone, and the others have found that out already: nobody follows ballot ${ballot} any more.`
          : `${leader} is gone, and nobody has said so: ${listed(loyal)} still ${loyal.length === 1 ? 'follows' : 'follow'} it in ballot ${ballot}. Each has given ${leader} its word for a while, and until that has run out it promises nothing to anybody else. All there is to notice is silence.`;
      },
      ifMissed: 'Look at the message that the act came with, make everything whole, and begin again.',
      rule: { module: 'Lease', name: 'Forbids' },
      marks: ({ start }) => ({ replicas: [rolesOf(start).leader] }),
    },
    {
      title: 'Somebody else is elected',
      acts: () => [],
      awaits: ({ start }) => `${listed(rolesOf(start).others, 'or')} leads and serves clients`,
      hasComeAbout: (told) => successorIn(told) !== null,
      withinMs: 60_000,
      caption(told) {
        const { leader } = rolesOf(told.start);
        const next = successorIn(told)!;
        return `${silenceUntil(told, next)} ${electionOf(told)} Their promises told it of all that ${leader} may have had chosen: that was proposed again in the new ballot before ${next} let clients in.`;
      },
      ifMissed:
        'A majority must be up and reach each other: look at the stage for a second replica that is down or cut off. Waiting longer may do, too.',
      rule: { module: 'MultiPaxos', name: 'CanBecomeLeader' },
      marks: (told) => ({ replicas: [successorIn(told)].filter((id) => id !== null) }),
    },
    {
      title: 'The old leader comes back',
      acts: ({ start }) => [{ action: 'restart', replica: rolesOf(start).leader }],
      awaits: ({ start }) => `${rolesOf(start).leader} has a place in the group again`,
      hasComeAbout({ start, ends, now }) {
        const back = statusIn(now, rolesOf(start).leader);
        const before = leaderIn(ends[1] ?? now);
        return (
          back !== null &&
          back.state === 'serving' &&
          back.recovery === null &&
          before !== null &&
          compareBallots(back.ballot, before.ballot) >= 0
        );
      },
      withinMs: 120_000,
      caption({ start, now }) {
        const { leader } = rolesOf(start);
        const back = statusIn(now, leader)!;
        return back.role === 'leader'
          ? `${leader} is back, and leads again, in a ballot of its own: ${ballotOf(back)}. Its old one counts no more.`
          : `${leader} is back and follows ${back.leader ?? 'whoever leads'} in ballot ${ballotOf(back)}. Having led before gives it nothing: it answers only what is at least as high as what it has promised, and its old ballot ${ballotOf(leaderIn(start))} is lower.`;
      },
      ifMissed: 'It may still be starting PostgreSQL, or be copying a database: wait longer.',
      rule: { module: 'MultiPaxos', name: 'MayVote' },
      marks: ({ start }) => ({ replicas: [rolesOf(start).leader] }),
    },
  ],

  answer({ start, ends }) {
    const { leader, named } = rolesOf(start);
    const next = leaderIn(ends[1]!);
    const rule = { module: 'MultiPaxos', name: 'StartElection' } as const;
    if (next === null || next.id === leader)
      return {
        choice: 'nobody',
        happened: `Nobody but ${leader} has led.`,
        why: `No other had a majority.`,
        rule,
      };
    return {
      choice: named.includes(next.id) ? next.id : 'rest',
      happened: `${next.id} leads, in ballot ${formatBallot(next.ballot)}.`,
      why: `No rule says which one: each waits for a while of its own choosing, and whoever asks first and hears a majority leads. That is why nobody can tell beforehand, and why it does not matter: any majority knows of everything that was chosen. Play it again, and it may be another.`,
      rule,
    };
  },
};
