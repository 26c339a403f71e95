/** Development only. What the toy shows of a recovery: phases by the clock, long enough to look at. */
import type { FaultRequest, RecoveryProgress } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';

type Wiped = Extract<FaultRequest, { readonly action: 'wipe' }>['what'];

export interface ToyRecovery {
  readonly what: Wiped;
  readonly source: ReplicaId;
  readonly beganMs: number;
}

const megabyte = 1024 * 1024;
const bytesTotal = 84 * megabyte;
/** Each phase, and how long it takes. `learning`: caught up, and not a voter again yet. */
const plans = {
  log: [
    ['joining', 1500],
    ['catchingUp', 1500],
    ['learning', 1200],
  ],
  database: [
    ['copying', 5000],
    ['starting', 1200],
    ['catchingUp', 1500],
  ],
  both: [
    ['joining', 1500],
    ['copying', 5000],
    ['starting', 1200],
    ['catchingUp', 1500],
    ['learning', 1200],
  ],
} as const;

export interface ToyPhase {
  readonly phase: RecoveryProgress['phase'] | 'learning';
  readonly progress: RecoveryProgress | null;
}

/** Null when it is over. */
export function phaseOf({ what, source, beganMs }: ToyRecovery, nowMs: number): ToyPhase | null {
  let startMs = beganMs;
  for (const [phase, tookMs] of plans[what]) {
    const share = (nowMs - startMs) / tookMs;
    startMs += tookMs;
    if (share >= 1) continue;
    if (phase === 'learning') return { phase, progress: null };
    const measured = phase === 'copying' || phase === 'catchingUp';
    const progress: RecoveryProgress = {
      phase,
      cause: what === 'both' ? 'bothLost' : what === 'log' ? 'logLost' : 'databaseLost',
      source: phase === 'copying' ? source : null,
      bytes: phase === 'copying' ? Math.round(bytesTotal * share) : 0,
      bytesTotal: phase === 'copying' ? bytesTotal : null,
      bytesReceived: phase === 'copying' ? Math.round(bytesTotal * share * (what === 'both' ? 1 : 0.12)) : 0,
      percent: measured ? Math.floor(share * 100) : null,
      attempts: phase === 'joining' ? 0 : 1,
      // One of the three shows it.
      lastFailure:
        what === 'database' && phase === 'copying'
          ? { reason: 'gives 2 copies already', source, agoMs: Math.round(nowMs - beganMs) }
          : null,
      sinceMs: Math.round(nowMs - beganMs),
    };
    return { phase, progress };
  }
  return null;
}
