/**
 * Whether a scenario can be played on the run that is shown, and if not, why, and what would help. Pure.
 */
import { faultsByLink, findLeader, freshStatus } from '../model/cluster-view.ts';
import { payloadOf, protocolTitle } from '../model/protocol-view.ts';
import type { SourceKind } from '../run/source.ts';
import type { Scenario } from './scenario.ts';
import type { Seen } from './seen.ts';
import { listed } from './words.ts';

export interface Refusal {
  readonly why: string;
  /** `simulate`: in a simulated group of its own; `whole`: make everything whole; `now`: back to the newest moment; null: only time. */
  readonly offer: 'simulate' | 'whole' | 'now' | null;
}

export interface Ground {
  readonly kind: SourceKind;
  /** Null: nothing was told yet. */
  readonly seen: Seen | null;
  readonly isPast: boolean;
  readonly isLost: boolean;
}

/** Null: it can. */
export function refusalOf(scenario: Scenario, { kind, seen, isPast, isLost }: Ground): Refusal | null {
  if (kind === 'file') return { why: 'This run was recorded: nothing can be done to it.', offer: 'simulate' };
  if (scenario.plays === 'simulated' && kind === 'live')
    return {
      why: 'This one would lose data for good, or needs moments that a real group seldom has. It is played in a simulated group.',
      offer: 'simulate',
    };
  if (isLost) return { why: 'The server does not answer. The page tries again by itself.', offer: null };
  if (isPast) return { why: 'The past is shown, and nothing can be done to it.', offer: 'now' };
  if (seen === null) return { why: 'Nothing is known of the group yet.', offer: null };
  return refusalByGroup(scenario, seen);
}

function refusalByGroup({ replicas: { least, most }, needsWrites }: Scenario, seen: Seen): Refusal | null {
  const { cluster, load } = seen;
  const count = cluster.replicas.length;
  const protocol = protocolTitle(cluster).name;
  if (protocol !== 'Multi-Paxos' || payloadOf(cluster) !== 'wal')
    return {
      why: `It is about Multi-Paxos over PostgreSQL's WAL; this group runs ${protocol}.`,
      offer: 'simulate',
    };
  if (count < least || count > most)
    return { why: `It needs ${least} to ${most} replicas; this group has ${count}.`, offer: 'simulate' };
  const broken = brokenIn(seen);
  if (broken !== null) return broken;
  if (needsWrites && load !== null && (!load.settings.isRunning || load.settings.clients === 0))
    return { why: 'It is about what clients write, and none does: let the load run first.', offer: null };
  return null;
}

function brokenIn({ cluster }: Seen): Refusal | null {
  const off = cluster.replicas.filter(({ process }) => process !== 'running').map(({ id }) => id);
  const faults = faultsByLink(cluster).size;
  if (off.length > 0 || faults > 0) {
    const parts = [
      ...(off.length > 0 ? [`${listed(off)} ${off.length === 1 ? 'is' : 'are'} down or frozen`] : []),
      ...(faults > 0 ? ['links are broken'] : []),
    ];
    return { why: `The group is not whole: ${listed(parts)}.`, offer: 'whole' };
  }
  const busy = cluster.replicas.filter((replica) => {
    const status = freshStatus(replica);
    if (status === null || status.state !== 'serving' || status.recovery !== null) return true;
    const voters = status.membership.members.filter(({ role }) => role === 'voter');
    return voters.length < cluster.replicas.length;
  });
  if (busy.length > 0 || findLeader(cluster) === null)
    return {
      why: `The group is not at rest yet: ${busy.length === 0 ? 'nobody leads' : `${listed(busy.map(({ id }) => id))} ${busy.length === 1 ? 'is' : 'are'} on the way`}. Wait a moment.`,
      offer: null,
    };
  return null;
}
