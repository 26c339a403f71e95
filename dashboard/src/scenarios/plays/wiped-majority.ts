/** Disks of a majority are lost: what was acknowledged may be nowhere any more, and nobody can tell. */
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { answeredBetween } from '../load-words.ts';
import { minorityOf, rolesIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { idsIn, lastStatusIn, leaderIn, replicaIn, type Seen, statusIn } from '../seen.ts';
import { listed, seconds } from '../words.ts';

/** That many slots more are chosen without those that are cut off. */
const slotsOn = 20;
/** Much longer than anybody waits before standing. */
const quietMs = 12_000;

/** Those whose disks stay, and those whose disks are lost: the leader is one of them. */
const sidesIn = (
  start: Seen,
): { readonly kept: readonly ReplicaId[]; readonly lost: readonly ReplicaId[] } => {
  const { leader, others } = rolesIn(start);
  const kept = others.slice(0, minorityOf(idsIn(start).length));
  return { kept, lost: [leader, ...others.filter((id) => !kept.includes(id))] };
};
const slotAt = (seen: Seen, ids: readonly string[]): number =>
  Math.max(0, ...ids.map((id) => lastStatusIn(seen, id)?.lastSlot ?? 0));
const chosenIn = (seen: Seen): number =>
  Math.max(0, ...idsIn(seen).map((id) => lastStatusIn(seen, id)?.commitPoint ?? 0));

/** Since the scenario began; null: no load tells. */
const spellAnswered = (writes: number | null): string =>
  writes === null
    ? 'What clients were told meanwhile is not seen here: no load runs.'
    : `Clients were told meanwhile of ${writes} writes.`;

/** Nothing has a log but those that are kept. */
const areEmpty = ({ start, now }: Told): boolean =>
  sidesIn(start).lost.every((id) => {
    const status = statusIn(now, id);
    return status !== null && (status.state === 'joining' || status.incarnation === 0);
  });

export const wipedMajority: Scenario = {
  id: 'wiped-majority',
  name: 'Wipe of a majority',
  promise: 'More disks are lost than the group can bear, and among them all that have the newest writes.',
  plays: 'simulated',
  replicas: { least: 3, most: 7 },
  needsWrites: true,

  question(start) {
    const { kept, lost } = sidesIn(start);
    return {
      text: `${listed(kept)} ${kept.length === 1 ? 'is' : 'are'} cut off while the others go on. Then the disks of ${listed(lost)} are lost, and all links are mended. What becomes of the group?`,
      choices: [
        { id: 'kept-leads', text: `${kept[0]!} leads, and the others copy what it has` },
        { id: 'empty-lead', text: `${listed(lost)} are a majority, and begin anew` },
        { id: 'nobody', text: 'Nobody leads any more, until somebody decides by hand' },
      ],
    };
  },

  chapters: [
    {
      title: 'A minority is cut off, the others go on',
      acts: ({ start }) => sidesIn(start).kept.map((replica) => ({ action: 'isolate' as const, replica })),
      awaits: () => `${slotsOn} slots more are chosen without those that are cut off`,
      hasComeAbout({ start, now }) {
        const leader = leaderIn(now);
        return leader !== null && leader.commitPoint >= slotAt(now, sidesIn(start).kept) + slotsOn;
      },
      withinMs: 60_000,
      caption({ start, now }) {
        const { kept, lost } = sidesIn(start);
        const leader = leaderIn(now)!;
        return `${leader.id} is at slot ${leader.commitPoint}, and ${listed(kept)} at slot ${slotAt(now, kept)}. What lies between is chosen: a majority, ${listed(lost)}, has it on disk. ${spellAnswered(answeredBetween(start, now))} Nothing is wrong so far.`;
      },
      ifMissed: 'Do clients write? Without writes nothing is chosen.',
      rule: { module: 'Recovery', name: 'EveryMajorityKnows' },
      marks: ({ start }) => ({ replicas: sidesIn(start).kept }),
    },
    {
      title: 'The disks of the majority are lost',
      acts: ({ start }) => [
        ...sidesIn(start).lost.map((replica) => ({
          action: 'wipe' as const,
          replica,
          what: 'both' as const,
        })),
        { action: 'heal' },
      ],
      awaits: ({ start }) => `${listed(sidesIn(start).lost)} have come back with nothing`,
      hasComeAbout: areEmpty,
      withinMs: 60_000,
      caption({ start, begins, now }) {
        const { kept, lost } = sidesIn(start);
        const wiped = begins[1]!;
        const gone = chosenIn(wiped) - slotAt(now, kept);
        return `${listed(lost)} have no log and ask to be let in. ${listed(kept)} ${kept.length === 1 ? 'has its log' : 'have their logs'} up to slot ${slotAt(now, kept)}; slots up to ${chosenIn(wiped)} were chosen. Those ${gone} slots are on no disk any more. ${spellAnswered(answeredBetween(start, wiped))} Whatever of that is in them is lost: that is what loss means. The specification never goes here: it lets disks be lost only while a majority is whole.`;
      },
      ifMissed: 'A replica that is started takes a moment: wait longer.',
      rule: { module: 'Recovery', name: 'MayLose' },
      marks: ({ start }) => ({ replicas: sidesIn(start).lost }),
    },
    {
      title: 'The group waits',
      acts: () => [],
      awaits: () => `somebody leads again, or nobody has for long, though all are up and reach each other`,
      hasComeAbout(told) {
        if (leaderIn(told.now) !== null) return true;
        const areUp = idsIn(told.now).every((id) => replicaIn(told.now, id)?.process === 'running');
        return areUp && areEmpty(told) && told.now.atMs - told.ends[1]!.atMs >= quietMs;
      },
      withinMs: 60_000,
      caption({ start, ends, now }) {
        const { kept, lost } = sidesIn(start);
        const next = leaderIn(now);
        if (next !== null) return `${next.id} leads, at slot ${next.commitPoint}.`;
        const quiet = seconds(now.atMs - ends[1]!.atMs);
        return `For ${quiet} all are up and reach each other, and nobody leads. ${listed(kept)} would need the votes of ${minorityOf(idsIn(now).length) + 1} members, and ${listed(lost)} may not give theirs: they are members no more under their old life, and to let them in under a new one a majority would have to agree. This does not end by waiting, and shall not.`;
      },
      ifMissed: 'Something has happened in between: look at the time line.',
      rule: { module: 'Recovery', name: 'OnlyNewestLifeVotes' },
      marks: ({ start }) => ({ replicas: sidesIn(start).kept }),
    },
  ],

  answer({ start, begins, ends }) {
    const { kept, lost } = sidesIn(start);
    const last = ends.at(-1)!;
    const next = leaderIn(last);
    const gone = chosenIn(begins[1]!) - slotAt(ends[1]!, kept);
    return {
      choice: next === null ? 'nobody' : kept.includes(next.id) ? 'kept-leads' : 'empty-lead',
      happened:
        next === null
          ? `Nobody leads; ${gone} chosen slots are gone.`
          : `${next.id} leads; ${gone} chosen slots are gone.`,
      why: `A majority’s disks are all that the promise to clients rests on: whatever was chosen is on one that survives, as long as a majority does. ${listed(kept)} cannot know whether it has everything: that it has not is seen only from outside. To lead from its log would lose writes in silence, so the group stands, and whoever runs it must choose: an old backup, ${kept[0]!} with its gap, or the lost disks. ${listed(lost)} cannot help.`,
      rule: { module: 'Recovery', name: 'NothingLost' },
    };
  },
};
