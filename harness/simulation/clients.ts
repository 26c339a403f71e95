/**
 * Simulated clients: each does one thing after the other, writes or reads a register, and tells the judge what it was told.
 *
 * Responsible for: finding a leader by trying, giving up after a timeout (the outcome is then unknown), and now and then
 * repeating the very same request, as a driver that retries does.
 */
import { proposalLabel } from '../../server/src/multipaxos/entry.ts';
import type { ProposalId } from '../../server/src/multipaxos/types/names.ts';
import { keyOf } from './database.ts';
import type { Invocation } from './judge.ts';
import type { SimulatedReplica } from './replica.ts';
import type { World } from './world.ts';

/** A repeated request is still the same operation: it began when it was first sent. */
interface Write {
  readonly proposal: ProposalId;
  readonly payload: Uint8Array;
  readonly invocation: Invocation;
}

export class SimulatedClient {
  /** Operations that ended with an answer. */
  answered = 0;
  private readonly world: World;
  private readonly name: string;
  private requests = 0;
  private target = 0;
  /** Identifies the operation that is under way: late answers to others are not its answer. */
  private current = 0;
  private stopped = false;

  constructor(world: World, index: number) {
    this.world = world;
    this.name = `c${index}`;
    this.target = index;
  }

  /** Begins nothing more. */
  stop(): void {
    this.stopped = true;
  }

  begin(): void {
    const { queue, random, options } = this.world;
    if (this.stopped) return;
    queue.after(random.exponential(options.workload.thinkMsMean), () => {
      if (random.chance(options.workload.writeFraction)) this.write(this.newWrite());
      else this.read();
    });
  }

  private newWrite(): Write {
    const { random, options } = this.world;
    this.requests += 1;
    const payload = new Uint8Array(1 + random.below(options.workload.payloadBytesMax));
    payload[0] = random.below(256);
    const invocation = this.world.judge.begins(keyOf(payload, options.workload.keys));
    return { proposal: { client: this.name, request: this.requests }, payload, invocation };
  }

  private replica(): SimulatedReplica {
    return this.world.replicas[this.target % this.world.replicas.length]!;
  }

  private write(request: Write): void {
    const { judge, options, random } = this.world;
    const { proposal, payload, invocation } = request;
    const operation = this.operation(() => {
      this.target += 1;
      if (!this.stopped && random.chance(options.workload.retry)) this.write(request);
      else this.begin();
    });
    this.replica().sessions.write(proposal, payload, (answer) => {
      if (answer === 'acknowledged') judge.writeAcknowledged(invocation, proposalLabel(proposal));
      if (!operation.ends()) return;
      if (answer === 'acknowledged') this.succeed();
      else this.tryElsewhere();
    });
  }

  private read(): void {
    const { judge, options, random } = this.world;
    const key = random.below(options.workload.keys);
    const invocation = judge.begins(key);
    const operation = this.operation(() => this.tryElsewhere());
    this.replica().sessions.read(
      key,
      (value) => {
        judge.readAnswered(invocation, value);
        if (operation.ends()) this.succeed();
      },
      () => {
        if (operation.ends()) this.tryElsewhere();
      },
    );
  }

  private succeed(): void {
    this.answered += 1;
    this.begin();
  }

  private tryElsewhere(): void {
    this.target += 1;
    this.begin();
  }

  /** An operation ends once: by an answer or by its timeout. */
  private operation(onTimeout: () => void): { ends(): boolean } {
    this.current += 1;
    const mine = this.current;
    const ends = (): boolean => {
      if (this.current !== mine) return false;
      this.current += 1;
      return true;
    };
    this.world.queue.after(this.world.options.workload.timeoutMs, () => {
      if (ends()) onTimeout();
    });
    return { ends };
  }
}
