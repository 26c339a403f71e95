/** A member of a simulated group as the demo's supervisor knows machines: it is started, killed, frozen and wiped in simulated time. */
import { refused } from '../../server/src/demo/fault-outcome.ts';
import type { ReplicaPlan } from '../../server/src/demo/layout.ts';
import type { ReplicaMachine } from '../../server/src/demo/replica-machine.ts';
import type { ExitReport } from '../../server/src/demo/replica-process.ts';
import type { SimulatedTime } from '../../server/src/ports/testing/simulated-time.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';

export interface SimulatedMachine extends ReplicaMachine {
  /** Of the life that runs; null: none does. */
  started(pid: number): void;
  ended(): void;
}

export function createSimulatedMachine(
  plan: ReplicaPlan,
  { member, time }: { readonly member: MemoryMember; readonly time: SimulatedTime },
  onExit: (report: ExitReport) => void,
): SimulatedMachine {
  let pid: number | null = null;
  let wanted = false;

  return {
    plan,
    state: () => {
      if (member.process === null) return 'stopped';
      return member.process.timers.stopped ? 'paused' : 'running';
    },
    pid: () => pid,
    endedByItself: () => pid === null && wanted,
    start() {
      wanted = true;
      if (!member.isRunning) void member.start({ isSlow: true });
    },
    crash() {
      wanted = false;
      member.crash();
      return Promise.resolve();
    },
    pause: () => member.process?.timers.stop(),
    resume: () => member.process?.timers.goOn(),
    async stop(graceMs) {
      wanted = false;
      const { process } = member;
      if (process === null) return;
      process.timers.goOn();
      const late = new Promise<void>((resolve) => time.after(graceMs, resolve));
      await Promise.race([member.stop(), late]);
      if (member.process === process) member.crash();
    },
    heard: () => undefined,
    killPostgres() {
      if (member.postgres.run === null)
        return Promise.resolve(refused('notRunning', `the PostgreSQL of ${plan.id} is not running`));
      member.postgres.killMain();
      return Promise.resolve({ ok: true });
    },
    wipe(what) {
      member.crashMachine();
      member.lose(what);
      return Promise.resolve({ ok: true });
    },
    endPostgres: () => Promise.resolve(null),
    started(number) {
      pid = number;
      wanted = true;
    },
    ended() {
      pid = null;
      onExit({ plan, code: null, signal: 'SIGKILL', unexpected: wanted });
    },
  };
}
