/** Which modules a module rests on, at any depth. Pure: it asks for one text after the other, and whoever has them, at once or later, answers. */
import { modulesNamedIn } from './spec-text.ts';

/** Yields names, each to be answered with the module's text; null: it is none of ours. What it returns has the module itself first. */
export function* modulesBelow(module: string): Generator<string, ReadonlyMap<string, string>, string | null> {
  const found = new Map<string, string>();
  const asked = new Set<string>();
  const waiting = [module];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (asked.has(name)) continue;
    asked.add(name);
    const text = yield name;
    if (text === null) continue;
    found.set(name, text);
    waiting.push(...modulesNamedIn(text));
  }
  return found;
}
