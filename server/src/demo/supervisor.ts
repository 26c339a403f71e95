/**
 * The demo's cluster: one child process per replica, what is known of each, and the faults that people cause.
 *
 * Responsible for: starting, watching, breaking and stopping the replicas. Serves nothing; demo-server.ts does.
 * Invariants: a replica that was crashed on purpose stays down until it is restarted (unless told otherwise); a replica that comes back is given the
 * link faults that still stand; after `stop` no process of the demo is left, whatever state it was in.
 */
import type { ClusterReplica, FaultRequest, ReplicaStatus } from '../api/status.ts';
import { identify, type ProcessIdentity } from '../adapters/postgres/process-identity.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { loadReplicaConfig } from '../config/replica-config.ts';
import { createFaultTable, type FaultTable, sameFaults } from './fault-table.ts';
import type { ReplicaPlan } from './layout.ts';
import { endProcess, postgresSignals } from './left-behind.ts';
import { createReplicaMonitor, type ReplicaMonitor } from './replica-monitor.ts';
import {
  createReplicaProcess,
  type ExitReport,
  type ReplicaCommand,
  type ReplicaProcess,
} from './replica-process.ts';
import { readPostmaster, type Wiped, wipeDisk } from './wipe.ts';

const stopGraceMs = 12_000;
const autoRestartMs = 1000;

export type FaultOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface SupervisorOptions {
  readonly plans: readonly ReplicaPlan[];
  readonly command: ReplicaCommand;
  readonly autoRestart: boolean;
  /** Lines for people. */
  readonly say: (line: string) => void;
  /** A child was started: write down who it is, so that a later supervisor can end what this one left. */
  readonly onChildren: (pids: readonly number[]) => void;
}

interface Member {
  readonly plan: ReplicaPlan;
  readonly process: ReplicaProcess;
  readonly monitor: ReplicaMonitor;
  /** The PostgreSQL last seen, which outlives a replica that is killed. */
  postgres: ProcessIdentity | null;
  /** Carryings of the fault table to the replica, one after the other; `waiting` if one has not begun yet. */
  carrying: Promise<string | null>;
  waiting: boolean;
  /** What was asked of it, one after the other. */
  turn: Promise<unknown>;
}

type ReplicaRequest = Exclude<FaultRequest, { readonly from: ReplicaId } | { readonly action: 'heal' }>;

export class Supervisor {
  private readonly options: SupervisorOptions;
  private readonly members: ReadonlyMap<ReplicaId, Member>;
  private readonly faults: FaultTable;
  private stopping = false;

  constructor(options: SupervisorOptions) {
    this.options = options;
    this.faults = createFaultTable(options.plans.map((plan) => plan.id));
    this.members = new Map(options.plans.map((plan) => [plan.id, this.createMember(plan)]));
  }

  private createMember(plan: ReplicaPlan): Member {
    return {
      plan,
      process: createReplicaProcess(plan, this.options.command, (report) => this.onExit(report)),
      monitor: createReplicaMonitor(plan, (status) => this.onStatus(plan.id, status)),
      postgres: null,
      carrying: Promise.resolve(null),
      waiting: false,
      turn: Promise.resolve(),
    };
  }

  start(): void {
    for (const member of this.members.values()) this.startMember(member);
  }

  private startMember(member: Member): void {
    member.process.start();
    const pids = [...this.members.values()].map((each) => each.process.pid()).filter((pid) => pid !== null);
    this.options.onChildren(pids);
  }

  private onExit({ plan, code, signal, unexpected }: ExitReport): void {
    if (this.stopping || !unexpected) return;
    const how = signal === null ? `exit code ${code ?? '?'}` : signal;
    this.options.say(`${plan.id} has ended by itself (${how}); its output is in ${plan.logFile}`);
    if (!this.options.autoRestart) {
      this.options.say(`Start it again with: barista fault restart ${plan.id}`);
      return;
    }
    setTimeout(() => {
      const member = this.members.get(plan.id);
      if (member === undefined) return;
      void this.inTurn(member, async () => {
        // Somebody may have started or crashed it meanwhile.
        if (!this.stopping && member.process.endedByItself()) this.startMember(member);
        return { ok: true };
      });
    }, autoRestartMs).unref();
  }

  private onStatus(id: ReplicaId, status: ReplicaStatus): void {
    const member = this.members.get(id);
    if (member === undefined) return;
    const { pid } = status.postgres;
    if (pid !== null && pid !== member.postgres?.pid) {
      void notePostgres(member, pid);
    }
    if (!sameFaults(status.faults, this.faults.of(id))) void this.reconcile(member);
  }

  /** Resolves when the replica has the table as it is now, with its objection if it has one. */
  private reconcile(member: Member): Promise<string | null> {
    // One that has not begun yet will take the table as it is by then.
    if (!member.waiting) {
      member.waiting = true;
      member.carrying = member.carrying.then(() => this.carry(member));
    }
    return member.carrying;
  }

  private async carry(member: Member): Promise<string | null> {
    member.waiting = false;
    if (this.stopping) return null;
    try {
      return await member.monitor.setFaults(this.faults.of(member.plan.id));
    } catch {
      // No answer: the next status that comes will show that faults are missing.
      return null;
    }
  }

  cluster(): readonly ClusterReplica[] {
    return [...this.members.values()].map(({ plan, process, monitor }) => {
      const status = monitor.status();
      const pid = process.pid();
      // What an earlier process said is not about one that was started since.
      const earlier = pid !== null && status !== null && status.pid !== pid;
      const state = process.state();
      if (earlier) return { id: plan.id, process: state, status: null, ageMs: null };
      return { id: plan.id, process: state, status, ageMs: monitor.ageMs() };
    });
  }

  monitors(): readonly ReplicaMonitor[] {
    return [...this.members.values()].map((member) => member.monitor);
  }

  plan(id: string): ReplicaPlan | null {
    return this.members.get(id as ReplicaId)?.plan ?? null;
  }

  /** Asks every running replica now, so that what follows is about the present. */
  async refresh(): Promise<void> {
    const running = [...this.members.values()].filter((member) => member.process.state() === 'running');
    await Promise.all(running.map((member) => member.monitor.ask()));
  }

  async fault(request: FaultRequest): Promise<FaultOutcome> {
    switch (request.action) {
      case 'heal':
        this.faults.heal();
        return this.spreadFaults();
      case 'cut':
      case 'delay':
      case 'drop':
      case 'duplicate': {
        const problem = this.faults.set(request);
        return problem === null ? this.spreadFaults() : refused('badFault', problem);
      }
      case 'crash':
      case 'pause':
      case 'resume':
      case 'restart':
      case 'killPostgres':
      case 'wipe':
      case 'isolate': {
        const member = this.members.get(request.replica);
        if (member === undefined) return refused('unknownReplica', `there is no replica ${request.replica}`);
        return this.inTurn(member, () => this.breakMember(member, request));
      }
      default:
        return request satisfies never;
    }
  }

  /** One after the other: a replica must not be started while its disk is being wiped. */
  private inTurn(member: Member, work: () => Promise<FaultOutcome>): Promise<FaultOutcome> {
    const outcome = member.turn.then(work);
    member.turn = outcome.catch(() => {});
    return outcome;
  }

  private async breakMember(member: Member, request: ReplicaRequest): Promise<FaultOutcome> {
    const { process, plan } = member;
    const state = process.state();
    switch (request.action) {
      case 'crash':
        if (state === 'stopped') return refused('notRunning', `${plan.id} is not running`);
        await process.crash();
        return { ok: true };
      case 'pause':
        if (state !== 'running') return refused('notRunning', `${plan.id} is ${state}`);
        process.pause();
        return { ok: true };
      case 'resume':
        if (state !== 'paused') return refused('notPaused', `${plan.id} is ${state}`);
        process.resume();
        return { ok: true };
      case 'restart':
        await process.stop(stopGraceMs);
        if (this.stopping) return refused('stopping', 'the demo is stopping');
        this.startMember(member);
        return { ok: true };
      case 'killPostgres':
        return this.killPostgres(member);
      case 'wipe':
        return this.wipe(member, request.what);
      case 'isolate':
        this.faults.isolate(plan.id);
        return this.spreadFaults();
      default:
        return request satisfies never;
    }
  }

  /** What a lost disk does: the processes end without a word, their files are gone, and the machine comes up again. */
  private async wipe(member: Member, what: Wiped): Promise<FaultOutcome> {
    const { process, plan } = member;
    await process.crash();
    const postgres = member.postgres ?? (await readPostmaster(plan.dir));
    if (postgres !== null && !(await endProcess(postgres, ['SIGKILL'], 3000)))
      return refused('failed', `PostgreSQL of ${plan.id} (process ${postgres.pid}) does not go away`);
    try {
      await wipeDisk(loadReplicaConfig(plan.configFile), what);
    } catch (error) {
      const { message } = error as Error;
      return refused('failed', `${plan.id} is down, and its disk could not be wiped: ${message}`);
    }
    if (this.stopping) return refused('stopping', 'the demo is stopping');
    this.startMember(member);
    return { ok: true };
  }

  private async killPostgres(member: Member): Promise<FaultOutcome> {
    const status = member.process.state() === 'running' ? await member.monitor.ask() : null;
    const pid = status?.postgres.pid ?? null;
    const name = pid === null ? member.postgres : await identify(pid);
    if (name === null) return refused('notRunning', `the PostgreSQL of ${member.plan.id} is not running`);
    // The postmaster's children notice by themselves that it is gone.
    const gone = await endProcess(name, ['SIGKILL'], 3000);
    return gone ? { ok: true } : refused('failed', `process ${name.pid} does not go away`);
  }

  /** Replicas that cannot be reached get their faults as soon as they answer. */
  private async spreadFaults(): Promise<FaultOutcome> {
    const running = [...this.members.values()].filter((member) => member.process.state() === 'running');
    const problems = await Promise.all(running.map((member) => this.reconcile(member)));
    const problem = problems.find((each) => each !== null);
    return problem === undefined ? { ok: true } : refused('badFault', problem ?? '');
  }

  /** Stops everything, and the PostgreSQL of replicas that were killed. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all([...this.members.values()].map((member) => member.process.stop(stopGraceMs)));
    await Promise.all(
      [...this.members.values()].map(async ({ postgres, plan }) => {
        if (postgres !== null && !(await endProcess(postgres, postgresSignals, 4000))) {
          this.options.say(`PostgreSQL of ${plan.id} (process ${postgres.pid}) does not go away`);
        }
      }),
    );
    for (const { monitor } of this.members.values()) monitor.close();
  }
}

async function notePostgres(member: Member, pid: number): Promise<void> {
  const identity = await identify(pid);
  if (identity !== null) member.postgres = identity;
}

function refused(code: string, message: string): FaultOutcome {
  return { ok: false, code, message };
}
