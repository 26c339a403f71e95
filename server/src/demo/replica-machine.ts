/**
 * One replica's machine, as the demo breaks it: the replica's process, its PostgreSQL and its disk.
 *
 * Responsible for: who PostgreSQL is, which outlives a replica that is killed, and what of the disk goes. What may be asked of it when is the supervisor's.
 */
import type { ReplicaStatus } from '../api/status.ts';
import { identify, type ProcessIdentity } from '../adapters/postgres/process-identity.ts';
import { loadReplicaConfig } from '../config/replica-config.ts';
import { type MachineOutcome, refused } from './fault-outcome.ts';
import type { ReplicaPlan } from './layout.ts';
import { endProcess, postgresSignals } from './left-behind.ts';
import {
  createReplicaProcess,
  type ExitReport,
  type ReplicaCommand,
  type ReplicaProcess,
} from './replica-process.ts';
import { readPostmaster, type Wiped, wipeDisk } from './wipe.ts';

export interface ReplicaMachine extends ReplicaProcess {
  /** The replica's newest status: it says who its PostgreSQL is. */
  heard(status: ReplicaStatus): void;
  /** `pid`: what the replica says that it is now; null: it says nothing. */
  killPostgres(pid: number | null): Promise<MachineOutcome>;
  /** What a lost disk does. The replica's process has ended. */
  wipe(what: Wiped): Promise<MachineOutcome>;
  /** Of a replica that has ended. What is wrong, for people; null: nothing is left of it. */
  endPostgres(): Promise<string | null>;
}

export function createReplicaMachine(
  plan: ReplicaPlan,
  command: ReplicaCommand,
  onExit: (report: ExitReport) => void,
): ReplicaMachine {
  /** The PostgreSQL last seen. */
  let postgres: ProcessIdentity | null = null;

  async function note(pid: number): Promise<void> {
    postgres = (await identify(pid)) ?? postgres;
  }

  /** By the directory's own note, for a replica that has said nothing yet, or whose PostgreSQL is newer than what it said. */
  async function runningPostgres(): Promise<ProcessIdentity | null> {
    return (await readPostmaster(plan.dir)) ?? postgres;
  }

  return {
    ...createReplicaProcess(plan, command, onExit),
    heard({ postgres: { pid } }) {
      if (pid !== null && pid !== postgres?.pid) void note(pid);
    },
    async killPostgres(pid) {
      const name = pid === null ? postgres : await identify(pid);
      if (name === null) return refused('notRunning', `the PostgreSQL of ${plan.id} is not running`);
      // The postmaster's children notice by themselves that it is gone.
      const gone = await endProcess(name, ['SIGKILL'], 3000);
      return gone ? { ok: true } : refused('failed', `process ${name.pid} does not go away`);
    },
    async wipe(what) {
      const running = await runningPostgres();
      if (running !== null && !(await endProcess(running, ['SIGKILL'], 3000)))
        return refused('failed', `PostgreSQL of ${plan.id} (process ${running.pid}) does not go away`);
      try {
        await wipeDisk(loadReplicaConfig(plan.configFile), what);
      } catch (error) {
        const { message } = error as Error;
        return refused('failed', `${plan.id} is down, and its disk could not be wiped: ${message}`);
      }
      return { ok: true };
    },
    async endPostgres() {
      const running = await runningPostgres();
      if (running === null || (await endProcess(running, postgresSignals, 4000))) return null;
      return `PostgreSQL of ${plan.id} (process ${running.pid}) does not go away`;
    },
  };
}
