/**
 * The demo's cluster: one machine per replica, what is known of each, and the faults that people cause.
 *
 * Responsible for: starting, watching, breaking and stopping the replicas, and what of that is refused. How a machine does it is replica-machine.ts. Serves nothing; demo-server.ts does.
 * Invariants: a fault that leaves no majority is refused unless it is forced; a replica that was crashed on purpose stays down until it is restarted (unless told otherwise); a replica that comes back is given the
 * link faults that still stand; after `stop` no process of the demo is left, whatever state it was in; a replica that was removed is never started
 * again, whatever was asked of it before: what waits for its turn looks at who is there when that comes.
 */
import type { ClusterReplica, FaultRequest, LinkFault, ReplicaStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { describeFault } from '../adapters/ws-transport/link-faults.ts';
import { done, type FaultOutcome, refused } from './fault-outcome.ts';
import { createFaultTable, type FaultTable, noReplica, sameFaults } from './fault-table.ts';
import {
  crashedWords,
  healedWords,
  stillDownWords,
  isolatedWords,
  pausedWords,
  postgresKilledWords,
  restartedWords,
  resumedWords,
  untoldWords,
  wipedWords,
} from './fault-words.ts';
import type { ReplicaPlan } from './layout.ts';
import { beyondMinority, type Standing } from './minority.ts';
import type { ReplicaMonitor } from './replica-monitor.ts';
import type { ReplicaMachine } from './replica-machine.ts';
import type { ExitReport } from './replica-process.ts';
import type { Wiped } from './wipe.ts';

const stopGraceMs = 12_000;
const autoRestartMs = 1000;

export interface SupervisorOptions {
  readonly plans: readonly ReplicaPlan[];
  readonly machineOf: (plan: ReplicaPlan, onExit: (report: ExitReport) => void) => ReplicaMachine;
  readonly monitorOf: (plan: ReplicaPlan, onStatus: (status: ReplicaStatus) => void) => ReplicaMonitor;
  readonly autoRestart: boolean;
  /** Lines for people. */
  readonly say: (line: string) => void;
  /** A child was started: write down who it is, so that a later supervisor can end what this one left. */
  readonly onChildren: (pids: readonly number[]) => void;
}

interface Member {
  readonly plan: ReplicaPlan;
  readonly machine: ReplicaMachine;
  readonly monitor: ReplicaMonitor;
  /** Carryings of the fault table to the replica, one after the other; `waiting` if one has not begun yet. */
  carrying: Promise<string | null>;
  waiting: boolean;
  /** It did not answer when it was last carried there. */
  untold: boolean;
  /** It is being killed. */
  ending: boolean;
  /** What it has lost and not recovered yet. */
  wiped: Wiped | null;
  /** What was asked of it, one after the other. */
  turn: Promise<unknown>;
}

type ReplicaRequest = Exclude<FaultRequest, { readonly from: ReplicaId } | { readonly action: 'heal' }>;

export class Supervisor {
  private readonly options: SupervisorOptions;
  /** In the order of their names. */
  private members: ReadonlyMap<ReplicaId, Member>;
  private ids: ReplicaId[];
  /** Of a replica that was added while the demo runs. */
  onAdded: (monitor: ReplicaMonitor) => void = () => undefined;
  private readonly faults: FaultTable;
  private stopping = false;

  constructor(options: SupervisorOptions) {
    this.options = options;
    this.ids = options.plans.map((plan) => plan.id);
    this.faults = createFaultTable(() => this.ids);
    this.members = new Map(options.plans.map((plan) => [plan.id, this.createMember(plan)]));
  }

  private createMember(plan: ReplicaPlan): Member {
    return {
      plan,
      machine: this.options.machineOf(plan, (report) => this.onExit(report)),
      monitor: this.options.monitorOf(plan, (status) => this.onStatus(plan.id, status)),
      carrying: Promise.resolve(null),
      waiting: false,
      untold: false,
      ending: false,
      wiped: null,
      turn: Promise.resolve(),
    };
  }

  start(): void {
    for (const member of this.members.values()) this.startMember(member);
  }

  plans(): readonly ReplicaPlan[] {
    return [...this.members.values()].map(({ plan }) => plan);
  }

  /** Starts a replica that was not there before. False: the demo is stopping, and nothing was started. */
  add(plan: ReplicaPlan): boolean {
    if (this.stopping) return false;
    if (this.members.has(plan.id)) throw new Error(`${plan.id} is there already`);
    const member = this.createMember(plan);
    this.setMembers(new Map([...this.members, [plan.id, member]]));
    this.onAdded(member.monitor);
    this.startMember(member);
    return true;
  }

  /**
   * Stops a replica, and knows it no more. What its PostgreSQL objects to, for people, and then the replica is still known, so that it can be asked again and `stop` tries, too;
   * null: nothing is left of it.
   */
  async remove(id: ReplicaId): Promise<string | null> {
    const member = this.members.get(id);
    if (member === undefined) return null;
    return this.inTurn(member, async () => {
      if (!this.knows(member)) return null;
      await member.machine.stop(stopGraceMs);
      const problem = await member.machine.endPostgres();
      if (problem !== null) return problem;
      member.monitor.close();
      this.setMembers(new Map([...this.members].filter(([other]) => other !== id)));
      this.faults.forget(id);
      return null;
    });
  }

  /** False: it was removed meanwhile, and another one may have its name. */
  private knows(member: Member): boolean {
    return this.members.get(member.plan.id) === member;
  }

  private unknown(id: ReplicaId): FaultOutcome {
    return refused('unknownReplica', noReplica(id, [...this.members.keys()]));
  }

  private setMembers(members: ReadonlyMap<ReplicaId, Member>): void {
    this.members = new Map([...members].sort(([one], [other]) => (one < other ? -1 : 1)));
    this.ids = [...this.members.keys()];
  }

  private startMember(member: Member): void {
    if (!this.knows(member)) throw new Error(`${member.plan.id} was removed, and nobody would stop it`);
    member.machine.start();
    const pids = [...this.members.values()].map((each) => each.machine.pid()).filter((pid) => pid !== null);
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
        // Somebody may have started, crashed or removed it meanwhile.
        if (!this.stopping && this.knows(member) && member.machine.endedByItself()) this.startMember(member);
      }).catch((error: Error) => this.options.say(`${plan.id} cannot be started again: ${error.message}`));
    }, autoRestartMs).unref();
  }

  private onStatus(id: ReplicaId, status: ReplicaStatus): void {
    const member = this.members.get(id);
    if (member === undefined) return;
    member.machine.heard(status);
    const pid = member.machine.pid();
    const isNow = pid === null || status.pid === pid;
    if (isNow && status.recovery === null && status.state === 'serving') member.wiped = null;
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
      const problem = await member.monitor.setFaults(this.faults.of(member.plan.id));
      member.untold = false;
      return problem;
    } catch {
      // No answer: the next status that comes will show that faults are missing.
      member.untold = true;
      return null;
    }
  }

  cluster(): readonly ClusterReplica[] {
    return [...this.members.values()].map(({ plan, machine, monitor }) => {
      const status = monitor.status();
      const pid = machine.pid();
      // What an earlier process said is not about one that was started since.
      const earlier = pid !== null && status !== null && status.pid !== pid;
      const state = machine.state();
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
    const running = [...this.members.values()].filter((member) => member.machine.state() === 'running');
    await Promise.all(running.map((member) => member.monitor.ask()));
  }

  async fault(request: FaultRequest): Promise<FaultOutcome> {
    switch (request.action) {
      case 'heal': {
        const healed = this.faults.all();
        this.faults.heal();
        return this.spreadFaults(healed, healedWords(healed) + stillDownWords(this.cluster()));
      }
      case 'cut':
      case 'delay':
      case 'drop':
      case 'duplicate': {
        const problem = this.faults.set(request);
        if (problem !== null) return refused('badFault', problem);
        const link = this.faults.link(request.from, request.to);
        return this.spreadFaults([link], describeFault(link));
      }
      case 'crash':
      case 'pause':
      case 'resume':
      case 'restart':
      case 'killPostgres':
      case 'wipe':
      case 'isolate': {
        const member = this.members.get(request.replica);
        if (member === undefined) return this.unknown(request.replica);
        return this.inTurn(member, () => this.breakMember(member, request)).catch((error: Error) =>
          refused('failed', `${request.replica}: ${error.message}`),
        );
      }
      default:
        return request satisfies never;
    }
  }

  /** One after the other: a replica must not be started while its disk is being wiped. */
  private inTurn<T>(member: Member, work: () => Promise<T>): Promise<T> {
    const outcome = member.turn.then(work);
    member.turn = outcome.catch(() => {});
    return outcome;
  }

  private async breakMember(member: Member, request: ReplicaRequest): Promise<FaultOutcome> {
    const { machine, plan } = member;
    if (!this.knows(member)) return this.unknown(plan.id);
    const state = machine.state();
    switch (request.action) {
      case 'crash':
        if (state === 'stopped') return refused('notRunning', `${plan.id} is not running`);
        return this.unlessTooMuch(request, async () => {
          await this.kill(member);
          return done(crashedWords(plan.id));
        });
      case 'pause':
        if (state !== 'running') return refused('notRunning', `${plan.id} is ${state}`);
        return this.unlessTooMuch(request, () => {
          machine.pause();
          return Promise.resolve(done(pausedWords(plan.id)));
        });
      case 'resume':
        if (state !== 'paused') return refused('notPaused', `${plan.id} is ${state}`);
        machine.resume();
        return done(resumedWords(plan.id));
      case 'restart':
        await machine.stop(stopGraceMs);
        if (this.stopping) return refused('stopping', 'the demo is stopping');
        this.startMember(member);
        return done(restartedWords(plan.id, state));
      case 'killPostgres':
        return this.killPostgres(member);
      case 'wipe':
        return this.unlessTooMuch(request, () => this.wipe(member, request.what));
      case 'isolate':
        return this.isolate(plan.id);
      default:
        return request satisfies never;
    }
  }

  /** `act` begins at once, so that what is asked at the same moment of another replica knows of it. */
  private async unlessTooMuch(
    request: Parameters<typeof beyondMinority>[0],
    act: () => Promise<FaultOutcome>,
  ): Promise<FaultOutcome> {
    const why = request.force === true ? null : beyondMinority(request, this.standings());
    return why === null ? act() : refused('beyondMinority', why);
  }

  private standings(): readonly Standing[] {
    return [...this.members.values()].map(({ plan, machine, monitor, ending, wiped }) => ({
      id: plan.id,
      process: ending ? 'stopped' : machine.state(),
      wiped,
      status: monitor.status(),
    }));
  }

  private async kill(member: Member): Promise<void> {
    member.ending = true;
    try {
      await member.machine.crash();
    } finally {
      member.ending = false;
    }
  }

  /** What a lost disk does: the processes end without a word, their files are gone, and the machine comes up again. */
  private async wipe(member: Member, what: Wiped): Promise<FaultOutcome> {
    const { machine } = member;
    const before = member.wiped;
    const lost = before === null || before === what ? what : 'both';
    member.wiped = lost;
    await this.kill(member);
    const outcome = await machine.wipe(what);
    // A word of the process of before may have come in between.
    member.wiped = outcome.ok ? lost : before;
    if (!outcome.ok) return outcome;
    if (!this.knows(member)) return this.unknown(member.plan.id);
    if (this.stopping) return refused('stopping', 'the demo is stopping');
    this.startMember(member);
    return done(wipedWords(member.plan.id, what));
  }

  private async killPostgres({ plan, machine, monitor }: Member): Promise<FaultOutcome> {
    const status = machine.state() === 'running' ? await monitor.ask() : null;
    const outcome = await machine.killPostgres(status?.postgres.pid ?? null);
    return outcome.ok ? done(postgresKilledWords(plan.id, machine.state())) : outcome;
  }

  private async isolate(id: ReplicaId): Promise<FaultOutcome> {
    if (this.members.size === 1) return refused('badFault', `${id} is the only replica, and has no links`);
    this.faults.isolate(id);
    const links = this.faults.all().filter(({ from, to }) => from === id || to === id);
    return this.spreadFaults(links, isolatedWords(id, links));
  }

  /** Replicas that cannot be reached get their faults as soon as they answer. `changed`: the links that this is about; `words`: what was done. */
  private async spreadFaults(changed: readonly LinkFault[], words: string): Promise<FaultOutcome> {
    const all = [...this.members.values()];
    const running = all.filter((member) => member.machine.state() === 'running');
    const problems = await Promise.all(running.map((member) => this.reconcile(member)));
    const problem = problems.find((each) => each !== null) ?? null;
    if (problem !== null) return refused('badFault', problem);
    const untold = all
      .filter((member) => !running.includes(member) || member.untold)
      .map(({ plan }) => plan.id)
      .filter((id) => changed.some(({ from }) => from === id));
    return done(untold.length === 0 ? words : `${words}\n${untoldWords(untold)}`);
  }

  /** Stops everything, and the PostgreSQL of replicas that were killed. */
  async stop(): Promise<void> {
    this.stopping = true;
    const all = [...this.members.values()];
    await Promise.all(all.map(({ machine }) => machine.stop(stopGraceMs)));
    const left = await Promise.all(all.map(({ machine }) => machine.endPostgres()));
    for (const problem of left) if (problem !== null) this.options.say(problem);
    for (const { monitor } of all) monitor.close();
  }
}
