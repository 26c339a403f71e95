/** The mixes of faults that runs are drawn from, by name: which faults there are, how bad the links get, and how many machines stand by to be added. */
import type { ReplicaConfigInput } from '../../server/src/config/config-schema.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import type { Weather } from '../../server/src/replica/testing/memory-network.ts';

export interface Mix {
  /** These faults only, by their names; null: all. */
  readonly faults: readonly string[] | null;
  /** How likely a round of faults has this weather. */
  readonly foul: number;
  readonly weather: Weather;
  readonly spares: (random: Random) => number;
  /** How soon replicas miss their leader: one of these. */
  readonly timings: readonly Timings[];
  /** When leaders write and tell their commit point: one of these; piggyback if absent. */
  readonly commitPoints?: readonly CommitPoint[];
}

type Timings = NonNullable<ReplicaConfigInput['timings']>;
type CommitPoint = NonNullable<ReplicaConfigInput['commitPoint']>;

const usual: Timings = { electionTimeoutMaxMs: 2000 };
/** The longer a leader that hears nobody believes in itself, the more depends on its lease. */
const patient: Timings = { electionTimeoutMaxMs: 5000 };
/** Leaders fall, and are followed, much more often; messages come later than that. */
const quick: Timings = {
  heartbeatMs: 40,
  retransmitMs: 60,
  leaseMs: 200,
  electionTimeoutMinMs: 250,
  electionTimeoutMaxMs: 400,
};
/** So much so that several want to lead at once, and reject each other. */
const rivals: Timings = { ...quick, electionTimeoutMaxMs: 254 };

export const mixes = {
  /** Whatever the seed draws. */
  default: {
    faults: null,
    foul: 0.4,
    weather: { loss: 0.03, doubling: 0.03, slow: 0.1, lateMsMax: 80 },
    spares: (random) => random.pick([0, 0, 1]),
    timings: [usual, usual, patient, quick],
  },
  /** Leaders write and tell their commit point by itself. */
  told: {
    faults: null,
    foul: 0.4,
    weather: { loss: 0.03, doubling: 0.03, slow: 0.1, lateMsMax: 80 },
    spares: (random) => random.pick([0, 0, 1]),
    timings: [usual, patient, quick],
    commitPoints: [{ kind: 'synchronous' }, { kind: 'asynchronous', everyMs: 10 }],
  },
  /** Disks are lost again and again, members come and go, logs let go of what others want, and old messages arrive late. */
  losses: {
    faults: [
      'the process dies',
      'the machine fails',
      'PostgreSQL is killed',
      'is cut off',
      'does not reach one other',
      'its log is full',
      'its disk is slow',
      'the leader dies, and others want to lead behind slow disks',
      'its clock changes its pace',
      'loses its database',
      'loses its log',
      'loses both',
      'is added',
      'is removed',
      'the leader dies while it removes another',
    ],
    foul: 1,
    weather: { loss: 0.05, doubling: 0.03, slow: 0.05, lateMsMax: 2000 },
    spares: () => 2,
    timings: [usual, quick, rivals],
  },
} as const satisfies Record<string, Mix>;

export type MixName = keyof typeof mixes;

export function isMix(name: string): name is MixName {
  return Object.hasOwn(mixes, name);
}
