/** Compiles LET: names without parameters are evaluated when they are first needed, and then known until the LET is evaluated again. */
import type { Evaluate, Frame } from './machine.ts';
import type { Binding, LetBinding, Scope } from './scope.ts';
import type { Expression } from './syntax.ts';

export function letScope(
  expression: Expression & { kind: 'let' },
  scope: Scope,
): { readonly scope: Scope; readonly forget: (frame: Frame) => void } {
  const names = new Map<string, Binding>(scope.names);
  const inner: Scope = { ...scope, names };
  /** Grows as more of the names are used: it is complete when the LET is evaluated. */
  const found: number[] = [];
  for (const definition of expression.definitions) {
    const binding: LetBinding = { kind: 'let', definition, scope: () => inner, found, compiled: new Map() };
    names.set(definition.name, binding);
  }
  return {
    scope: inner,
    forget: (frame) => {
      for (const slot of found) frame[slot] = undefined;
    },
  };
}

export function compileLet(
  expression: Expression & { kind: 'let' },
  scope: Scope,
  compile: (expression: Expression, scope: Scope) => Evaluate,
): Evaluate {
  const { scope: inner, forget } = letScope(expression, scope);
  const body = compile(expression.body, inner);
  return (frame) => {
    forget(frame);
    return body(frame);
  };
}
