/** Compiles `[f EXCEPT ![a].b = e, ...]`: one change after the other, each of what those before it have made. */
import { compile, placed } from './compile.ts';
import { altered, applied, asFunction } from './functions.ts';
import type { Evaluate, Frame } from './machine.ts';
import { newSlot, type Scope } from './scope.ts';
import type { Expression } from './syntax.ts';
import type { Value } from './value.ts';

export function compileExcept(expression: Expression & { kind: 'except' }, scope: Scope): Evaluate {
  const operand = compile(expression.operand, scope);
  const changes = expression.changes.map(({ path, value }) => {
    const slot = newSlot(scope);
    return {
      path: path.map((key) => compile(key, scope)),
      value: compile(value, { ...scope, current: slot }),
      slot,
    };
  });
  return (frame) =>
    placed(expression.place, () => {
      let whole = operand(frame);
      for (const { path, value, slot } of changes) whole = changed(whole, path, 0, frame, value, slot);
      return whole;
    });
}

function changed(
  whole: Value,
  path: readonly Evaluate[],
  at: number,
  frame: Frame,
  value: Evaluate,
  slot: number,
): Value {
  const key = path[at]!(frame);
  const before = applied(asFunction(whole), key);
  if (at < path.length - 1)
    return altered(asFunction(whole), key, changed(before, path, at + 1, frame, value, slot));
  frame[slot] = before;
  return altered(asFunction(whole), key, value(frame));
}
