/** What the names in an expression stand for where it is compiled, and where their values lie when it is evaluated. */
import type { Evaluate, Frame, Machine } from './machine.ts';
import type { Program } from './program.ts';
import type { Definition } from './syntax.ts';
import type { Value } from './value.ts';

/** One compiled definition with its names: each use of it has a frame of its own. */
export interface Routine {
  /** How many routines it lies in. */
  readonly depth: number;
  /** Of its frames. */
  size: number;
}

/** A parameter, or a name bound by a quantifier. */
export interface ValueBinding {
  readonly kind: 'value';
  readonly routine: Routine;
  readonly slot: number;
  /** Its value was made from variables that are not primed. */
  readonly isOfState: boolean;
}

/** Defined by LET. */
export interface LetBinding {
  readonly kind: 'let';
  readonly definition: Definition;
  readonly scope: () => Scope;
  /** Slots of values that were found, to be forgotten when the LET is evaluated again. */
  readonly found: number[];
  readonly compiled: Map<string, Evaluate>;
}

export type Binding = ValueBinding | LetBinding;

export interface Compilation {
  readonly program: Program;
  readonly machine: Machine;
  readonly variables: ReadonlyMap<string, number>;
  /** Compiled definitions, by name and by how they are used. */
  readonly routines: Map<Definition, Map<string, CompiledRoutine>>;
  readonly levels: Map<Definition, Level>;
  /** Those whose level is being found, each used by the one before it. */
  readonly levelling: Definition[];
}

export interface CompiledRoutine {
  readonly routine: Routine;
  evaluate: Evaluate;
}

/** What an expression depends on: nothing that changes, the state, or two states. */
export type Level = 0 | 1 | 2;

export interface Scope {
  readonly compilation: Compilation;
  readonly routine: Routine;
  readonly names: ReadonlyMap<string, Binding>;
  /** Variables stand for their values in the next state. */
  readonly isPrimed: boolean;
  /** Where what `@` stands for lies; null: it stands for nothing here. */
  readonly current: number | null;
}

export function newSlot(scope: Scope): number {
  return scope.routine.size++;
}

/** With further names, each of which has a slot. */
export function withNames(
  scope: Scope,
  names: readonly string[],
): { readonly scope: Scope; readonly slots: readonly number[] } {
  const all = new Map(scope.names);
  const slots = names.map((name) => {
    const slot = newSlot(scope);
    all.set(name, { kind: 'value', routine: scope.routine, slot, isOfState: false });
    return slot;
  });
  return { scope: { ...scope, names: all }, slots };
}

/** Leads from a frame of one routine to that of a routine around it. */
export function outerFrame(from: Routine, to: Routine): (frame: Frame) => Frame {
  const steps = from.depth - to.depth;
  if (steps === 0) return (frame) => frame;
  if (steps === 1) return (frame) => frame[0] as Frame;
  return (frame) => {
    let outer = frame;
    for (let i = 0; i < steps; i++) outer = outer[0] as Frame;
    return outer;
  };
}

export function readSlot(scope: Scope, { routine, slot }: Pick<ValueBinding, 'routine' | 'slot'>): Evaluate {
  if (routine === scope.routine) return (frame) => frame[slot] as Value;
  const outer = outerFrame(scope.routine, routine);
  return (frame) => outer(frame)[slot] as Value;
}
