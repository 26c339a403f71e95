/** A host for the core of Multi-Paxos, by a replica's configuration. */
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { CoreConfig } from '../../multipaxos/types/effects.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { CoreHost, type CoreHostOptions } from './core-host.ts';

export function coreConfigOf(
  { group, timings, bounds, commitPoint, payload }: ReplicaConfig,
  id: ReplicaId,
): CoreConfig {
  const { windowSlotsMax, windowBytesMax, acceptBatchBytesMax, catchUpSlotsMax } = bounds;
  const limits = { windowSlotsMax, windowBytesMax, acceptBatchBytesMax, catchUpSlotsMax };
  // An executor may itself wait for what is to be proposed (held-runs.ts).
  const servesUnapplied = payload === 'statements';
  return { group, id, ...timings, ...limits, commitPoint, servesUnapplied, trace: 'rare' };
}

/** Each tick of the core wakes the process, also of a cluster that nobody uses; shorter timings have it tick more often. */
const tickMsMax = 101;

/** A little more than half of the shortest interval, so that it is over at the second tick and not at the third. */
function tickMsOf({ timings: { heartbeatMs, retransmitMs }, commitPoint }: ReplicaConfig): number {
  const usual = Math.min(tickMsMax, Math.floor(Math.min(heartbeatMs, retransmitMs) / 2) + 1);
  return commitPoint.kind === 'asynchronous' ? Math.min(usual, commitPoint.everyMs) : usual;
}

/** The core of a replica by its configuration. */
export function coreHostOf(
  config: ReplicaConfig,
  parts: Pick<CoreHostOptions, 'log' | 'transport' | 'timers' | 'random'>,
): CoreHost {
  return new CoreHost({
    ...parts,
    config: coreConfigOf(config, parts.log.identity.member),
    tickMs: tickMsOf(config),
    logRetryMs: 500,
    catchUpBytesMax: config.bounds.acceptBatchBytesMax,
  });
}
