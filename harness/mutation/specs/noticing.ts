/**
 * Which models could notice that a definition is altered: those in whose behaviours, or in what they check, it is ever looked at.
 *
 * Responsible for: following names from what a model's configuration names, through the texts of its modules, as far as constants of that configuration do
 * not shut the way. Errs on the side of a model that could notice nothing. Pure: texts in.
 */
import type { SpecModule } from './specs-folder.ts';

/** Names that TLA+ text uses, in strings too: they only add names. Not those of another module, behind a `!`. */
const NAMES = /(?<![!\w])[A-Za-z]\w*/g;

interface Constants {
  /** What stands behind `=`, by name. */
  readonly values: ReadonlyMap<string, string>;
  /** What stands behind `<-`, by name. */
  readonly substitutes: ReadonlyMap<string, string>;
}

function constantsOf(cfg: string): Constants {
  const code = cfg.replace(/\\\*.*/g, '');
  const pairs = (sign: string): Map<string, string> =>
    new Map(
      [...code.matchAll(new RegExp(`(\\w+)\\s*${sign}\\s*(.+)`, 'g'))].map((m) => [m[1]!, m[2]!.trim()]),
    );
  return { values: pairs('='), substitutes: pairs('<-') };
}

/**
 * The text of a definition without what cannot happen with these constants: an action that is optional and left out, or that happens at most 0 times,
 * what is for members of an empty set, and changes of the members where none may be proposed. No such condition is altered in a mutant.
 */
export function living(text: string, { values, substitutes }: Constants): string {
  const optional = /"(\w+)" \\in Optional/.exec(text)?.[1];
  if (optional !== undefined && values.has('Optional') && !values.get('Optional')!.includes(`"${optional}"`))
    return '';
  const bound = /< (Max[A-Z]\w*)/.exec(text)?.[1];
  if (bound !== undefined && values.get(bound) === '0') return '';
  const lines = text.split('\n').map((line) => {
    const set = /\br \\in (\w+) \/\\ /.exec(line);
    if (set !== null && values.get(set[1]!) === '{}') return line.slice(0, set.index);
    const change = /\\E e \\in Configurations\(r\) : /.exec(line);
    if (change !== null && !substitutes.has('Proposable')) return line.slice(0, change.index);
    return line;
  });
  return lines.join('\n');
}

/** `modules`: those that the model reads. `cfg`: the text of its configuration. */
export function looksAt(definition: string, cfg: string, modules: readonly SpecModule[]): boolean {
  const constants = constantsOf(cfg);
  const uses = new Map<string, string[]>();
  const dead = new Set<string>();
  for (const { text, code, definitions } of modules) {
    for (const { name, from, to } of definitions) {
      if (constants.substitutes.has(name)) {
        dead.add(name);
        continue;
      }
      // Comments are blanks in `code`; strings are needed, and stand in `text` in the same places.
      const body = code.slice(from, to).replace(/_/g, (_, i: number) => text[from + i] ?? '_');
      const alive = living(body, constants);
      if (alive === '') dead.add(name);
      uses.set(name, [...(uses.get(name) ?? []), ...(alive.match(NAMES) ?? [])]);
    }
  }
  const found = new Set<string>();
  const waiting = [...(cfg.replace(/\\\*.*/g, '').match(NAMES) ?? [])];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const instead = constants.substitutes.get(name);
    waiting.push(...(instead === undefined ? (uses.get(name) ?? []) : [instead]));
  }
  return found.has(definition) && !dead.has(definition);
}
