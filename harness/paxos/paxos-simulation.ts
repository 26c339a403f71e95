/**
 * A group of cores of single-decree Paxos in simulated time, with a network that loses, repeats and reorders, partitions, crashes, slow disks, and databases
 * that lag, crash and are lost; all from one seed.
 *
 * Responsible for: the world around the cores. Their deeds are judged by paxos-judge.ts. Every replica proposes.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { Random } from '../../server/src/ports/testing/random.ts';
import { PaxosJudge, type PaxosFault } from './paxos-judge.ts';
import type { PaxosMutant } from './paxos-mutants.ts';
import { SimulatedReplica, type ReplicaEvent, type World } from './simulated-replica.ts';
import type { PaxosMessage } from '../../server/src/paxos/types/messages.ts';

export interface PaxosRunOptions {
  readonly seed: number;
  readonly replicas: number;
  /** For how long things fail; then everything heals. */
  readonly faultsMs: number;
  readonly healMs: number;
  readonly loses?: boolean;
  /** Processes die often, and are back at once. */
  readonly isUnsteady?: boolean;
  readonly mutant?: PaxosMutant;
  readonly traces?: boolean;
  /** How many proposals there are in all. */
  readonly proposals?: number;
}

export interface PaxosRunResult {
  readonly faults: readonly PaxosFault[];
  readonly chosen: number;
  readonly moved: number;
  readonly rejected: number;
  readonly copies: number;
  readonly purged: number;
  readonly crashes: number;
  readonly events: readonly ReplicaEvent[];
}

export function runPaxos(options: PaxosRunOptions): PaxosRunResult {
  return new PaxosSimulation(options).run();
}

class PaxosSimulation implements World {
  readonly random: Random;
  readonly judge: PaxosJudge;
  readonly events: ReplicaEvent[] = [];
  readonly tally = { moved: 0, rejected: 0, copies: 0, purged: 0, crashes: 0 };
  nowMs = 0;
  faulty = true;
  private readonly options: PaxosRunOptions;
  private readonly replicas: SimulatedReplica[];
  private readonly queue: { readonly atMs: number; readonly order: number; readonly act: () => void }[] = [];
  private order = 0;
  private cut = new Set<string>();
  private asked = 0;

  constructor(options: PaxosRunOptions) {
    this.options = options;
    this.random = new Random(options.seed);
    this.judge = new PaxosJudge(options.replicas);
    const ids = Array.from({ length: options.replicas }, (_, i) => `r${i + 1}` as ReplicaId);
    this.replicas = ids.map(
      (id) => new SimulatedReplica(this, { id, members: ids, ...pickOptions(options) }),
    );
  }

  run(): PaxosRunResult {
    const { faultsMs, healMs, proposals = 60 } = this.options;
    for (const replica of this.replicas) replica.start();
    this.every(5, () => this.replicas.forEach((replica) => replica.tick()));
    for (let i = 0; i < proposals; i += 1) this.after(this.random.between(0, faultsMs), () => this.propose());
    this.every(37, () => this.maybeFail());
    this.after(faultsMs, () => this.heal());
    while (this.judge.faults.length === 0) {
      const next = this.next();
      if (next === undefined || next.atMs > faultsMs + healMs) break;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      try {
        next.act();
      } catch (error) {
        this.judge.fault('Invariant', String(error));
      }
    }
    if (this.judge.faults.length === 0) this.judgeEnd();
    const { faults, chosen } = this.judge;
    return { faults, chosen: chosen.size, ...this.tally, events: this.events };
  }

  after(ms: number, act: () => void): void {
    this.queue.push({ atMs: this.nowMs + ms, order: this.order++, act });
  }

  private next(): PaxosSimulation['queue'][number] | undefined {
    let best = 0;
    for (let i = 1; i < this.queue.length; i += 1) {
      const [a, b] = [this.queue[i]!, this.queue[best]!];
      if (a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)) best = i;
    }
    return this.queue.splice(best, 1)[0];
  }

  private every(ms: number, act: () => void): void {
    const again = (): void => {
      act();
      this.after(ms, again);
    };
    this.after(ms, again);
  }

  send(from: ReplicaId, to: ReplicaId, message: PaxosMessage): void {
    if (this.faulty && (this.cut.has(`${from} ${to}`) || this.random.chance(0.08))) return;
    const copies = this.faulty && this.random.chance(0.08) ? 2 : 1;
    for (let i = 0; i < copies; i += 1) {
      const late = this.faulty && this.random.chance(0.05) ? 300 : 0;
      this.after(1 + this.random.below(8 + late), () => this.find(to).receive(from, message));
    }
  }

  /** Somebody whose database has at least so much, and can be copied. */
  sourceFor(id: ReplicaId, least: number): SimulatedReplica | undefined {
    const others = this.replicas.filter((each) => each.id !== id && each.isUp && each.durable >= least);
    return others.length === 0 ? undefined : this.random.pick(others);
  }

  /** What each replica's database has ever had, durably. */
  mostDone(): readonly { readonly id: ReplicaId; readonly most: SimulatedReplica['most'] }[] {
    return this.replicas.map(({ id, most }) => ({ id, most }));
  }

  private find(id: ReplicaId): SimulatedReplica {
    return this.replicas.find((each) => each.id === id)!;
  }

  private propose(): void {
    const up = this.replicas.filter((each) => each.isUp);
    if (up.length > 0) this.random.pick(up).propose(`c${this.asked++}`);
  }

  private maybeFail(): void {
    if (!this.faulty) return;
    const replica = this.random.pick(this.replicas);
    if (this.options.isUnsteady === true)
      this.replicas.forEach((each) => this.random.chance(0.4) && each.crash(1));
    else if (this.random.chance(0.12)) replica.crash(this.random.between(1, 200));
    if (this.random.chance(0.1)) {
      const [a, b] = [this.random.pick(this.replicas).id, this.random.pick(this.replicas).id];
      for (const link of [`${a} ${b}`, `${b} ${a}`]) {
        this.cut.add(link);
        this.after(this.random.between(20, 400), () => this.cut.delete(link));
      }
    }
    const intact = this.replicas.every((each) => each.isUp && each.durable >= each.mostEver - 1);
    if (this.options.loses === true && intact && this.random.chance(0.05)) replica.loseDatabase();
  }

  private heal(): void {
    this.faulty = false;
    this.cut.clear();
    for (const replica of this.replicas) if (!replica.isUp) replica.start();
  }

  /** All that was taken on by a life that has not ended is chosen, and all databases have the same, up to the last slot. */
  private judgeEnd(): void {
    const last = Math.max(0, ...this.judge.chosen.keys());
    for (const replica of this.replicas) {
      if (replica.durable < last)
        this.judge.fault('Progress', `${replica.id} has done ${replica.durable} of ${last} slots`);
      for (const label of replica.owed()) {
        if (!this.judge.hasChosen(label))
          this.judge.fault('Progress', `${label} of ${replica.id} is not chosen`);
      }
    }
  }
}

function pickOptions({ mutant, traces = false }: PaxosRunOptions): {
  mutant: PaxosMutant | null;
  traces: boolean;
} {
  return { mutant: mutant ?? null, traces };
}
