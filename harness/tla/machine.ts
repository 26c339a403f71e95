/** What is there while a specification is evaluated: the state that is looked at, the one that is being made, and what PrintT printed. */
import type { Value } from './value.ts';

/** The values of a definition's parameters and names; at 0 the frame of the definition around it. */
export type Frame = (Value | Frame | undefined)[];

export function newFrame(size: number): Frame {
  const frame: Frame = [];
  frame.length = size;
  return frame;
}

export type Evaluate = (frame: Frame) => Value;

export type State = (Value | undefined)[];

export interface Machine {
  /** By the numbers of the variables. */
  state: State;
  /** Primed variables that are known so far. */
  next: State;
  /** Changes whenever `state` does. */
  epoch: number;
  readonly registers: Map<number, Value>;
  /** By the names of the definitions whose bodies they are. */
  data: ReadonlyMap<string, Value>;
  /** Counts what the model was run with: what follows from the data changes with them. */
  run: number;
  readonly print: (value: Value) => void;
}
