/** Runs of requests by their names, which are the same at every replica, and what is agreed on about those that last too long (held-runs.ts). Pure. */
import type { SessionId } from './operation.ts';

/** The `turn`-th run of a request, from 0 on, while the operation of `slot` is executed: a request that has waited runs at another's slot. `round`: so often its replicas were told to go on. */
export interface RunName extends Place {
  readonly round: number;
}

export interface Place {
  readonly slot: number;
  readonly turn: number;
}

/** `replica` has given the run up, and promises not to finish it unless the log says so. `session`, `seq`: whose request it is. */
export interface HoldOperation {
  readonly kind: 'hold';
  readonly run: RunName;
  readonly session: SessionId;
  readonly seq: number;
  readonly replica: string;
}

/** Whoever has given the run up executes it again, to its end. */
export interface GoOnOperation {
  readonly kind: 'goOn';
  readonly run: RunName;
}

export function textOfRun({ slot, turn, round }: RunName): string {
  return `${slot}.${turn}.${round}`;
}

export function isSamePlace(one: Place, other: Place): boolean {
  return one.slot === other.slot && one.turn === other.turn;
}

export function isAtOrBehind(one: Place, other: Place): boolean {
  return one.slot > other.slot || (one.slot === other.slot && one.turn >= other.turn);
}

export type RunVerdict = 'fails' | 'goesOn';

/** What the log says of a run: whichever is first in it, all replicas that hold it, or a word to go on. */
export class RunTally {
  verdict: RunVerdict | null = null;
  private readonly holding = new Set<string>();
  private readonly name: string;
  private readonly replicas: readonly string[];

  constructor(run: RunName, replicas: readonly string[]) {
    this.name = textOfRun(run);
    this.replicas = replicas;
  }

  /** In the order of the log. */
  take(operation: HoldOperation | GoOnOperation): void {
    if (this.verdict !== null || textOfRun(operation.run) !== this.name) return;
    if (operation.kind === 'goOn') {
      this.verdict = 'goesOn';
      return;
    }
    this.holding.add(operation.replica);
    if (this.replicas.every((replica) => this.holding.has(replica))) this.verdict = 'fails';
  }
}
