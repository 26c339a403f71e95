/**
 * The mutants of the core: each is one module with one place altered.
 *
 * Responsible for: making them from the text of a module, and naming them so that a name outlives changes elsewhere in the module: by
 * file, function, what stood there and what stands there now, and a number if that is still not one of a kind.
 */
import { alterationsOf, isLeftAlone, type Replacement } from './alterations.ts';
import { functionAround, parseModule, walk } from './syntax.ts';

export interface CoreMutant {
  readonly name: string;
  /** Relative to the core's folder. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** What stood there, and what stands there now. */
  readonly what: string;
  /** The whole module. */
  readonly text: string;
}

export function mutantsOf(file: string, text: string): CoreMutant[] {
  const found: { readonly within: string; readonly replacement: Replacement }[] = [];
  walk(parseModule(file, text), (node, above) => {
    const within = functionAround(above);
    if (node.type === 'ExpressionStatement' || !isLeftAlone(node))
      for (const replacement of alterationsOf(node, above, text)) found.push({ within, replacement });
    return !isLeftAlone(node);
  });
  const named = new Map<string, number>();
  const seen = new Set([text]);
  const mutants: CoreMutant[] = [];
  for (const { within, replacement } of found) {
    const { start, end, text: by } = replacement;
    const altered = `${text.slice(0, start)}${by}${text.slice(end)}`;
    if (seen.has(altered)) continue;
    seen.add(altered);
    const what = `${oneLine(text.slice(start, end))} -> ${by === ';' ? 'nothing' : oneLine(by)}`;
    const name = `${file} ${within}: ${what}`;
    const count = (named.get(name) ?? 0) + 1;
    named.set(name, count);
    const line = text.slice(0, start).split('\n').length;
    mutants.push({ name: count === 1 ? name : `${name} #${count}`, file, line, what, text: altered });
  }
  return mutants;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
