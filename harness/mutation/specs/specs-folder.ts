/**
 * The mutants of the specifications: every alteration of what decides a behaviour in some model.
 *
 * Responsible for: which definitions of which modules are altered. Invariants and properties are not: they judge. Reads the folder of the specs, and writes nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { SPECS_DIR } from '../../../scripts/specs/tlc.ts';
import { type Alteration, alterations } from './alterations.ts';
import { type Definition, definitions, extended, lineOf, masked } from './module-text.ts';

/** Those whose rules are altered. */
const ALTERED = ['Lease', 'Recovery', 'MultiPaxos', 'OrderedApply', 'FollowerReads'] as const;

/** The first state and that it comes first, without which there is no behaviour; words of arithmetic, of which `<` and `<=` often mean the same; what only names or bounds. */
const LEFT_ALONE: ReadonlySet<string> = new Set([
  'Init',
  'InitWith',
  'Spec',
  'vars',
  'View',
  'OptionalActions',
  'Max',
  'Min',
  'MaxOf',
  'MinOf',
  'Larger',
  'Smaller',
  'Nth',
  'SumOf',
  'Prefix',
  'IsPrefix',
]);

export interface SpecModule {
  readonly name: string;
  readonly text: string;
  readonly code: string;
  readonly definitions: readonly Definition[];
  readonly extends: readonly string[];
}

export interface SpecMutant extends Alteration {
  readonly module: string;
  readonly definition: string;
  readonly line: number;
  /** Module, line and what was done: unique. */
  readonly name: string;
  /** Module, definition and what was done, with a number where several are alike: unique, and the same while lines move. */
  readonly key: string;
}

export function readModule(name: string, text: string): SpecModule {
  const code = masked(text);
  return { name, text, code, definitions: definitions(code), extends: extended(code) };
}

export function loadModules(specDir: string = SPECS_DIR): ReadonlyMap<string, SpecModule> {
  const names = readdirSync(specDir).flatMap((file) => (file.endsWith('.tla') ? [file.slice(0, -4)] : []));
  return new Map(
    names.map((name) => [name, readModule(name, readFileSync(path.join(specDir, `${name}.tla`), 'utf8'))]),
  );
}

/** The module itself and all that it extends, directly or not, of those that are there. */
export function closure(modules: ReadonlyMap<string, SpecModule>, name: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (each: string): void => {
    const module = modules.get(each);
    if (module === undefined || found.has(each)) return;
    found.add(each);
    module.extends.forEach(visit);
  };
  visit(name);
  return found;
}

/** All names that are reached from these through the texts of definitions. */
export function reached(modules: Iterable<SpecModule>, roots: Iterable<string>): ReadonlySet<string> {
  const uses = new Map<string, string[]>();
  for (const { code, definitions: all } of modules) {
    for (const { name, from, to } of all)
      uses.set(name, [...(uses.get(name) ?? []), ...(code.slice(from, to).match(/\b[A-Za-z]\w*/g) ?? [])]);
  }
  const found = new Set<string>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...(uses.get(name) ?? []));
  }
  return found;
}

/** `relevant`: the names of the definitions that decide behaviours. */
export function mutantsOf(module: SpecModule, relevant: ReadonlySet<string>): readonly SpecMutant[] {
  const { text, code, name } = module;
  const counts = new Map<string, number>();
  const numberOf = (base: string): number => {
    const count = (counts.get(base) ?? 0) + 1;
    counts.set(base, count);
    return count;
  };
  return module.definitions
    .filter((definition) => relevant.has(definition.name) && !LEFT_ALONE.has(definition.name))
    .flatMap((definition) =>
      alterations({ text, code, from: definition.from, to: definition.to }).map((alteration) => {
        const line = lineOf(text, alteration.from);
        const placed = `${name}:${line} ${alteration.what}`;
        const placedCount = numberOf(placed);
        const meant = `${name} ${definition.name}: ${alteration.what}`;
        const meantCount = numberOf(meant);
        const own = {
          module: name,
          definition: definition.name,
          line,
          name: placedCount === 1 ? placed : `${placed} (${placedCount})`,
          key: meantCount === 1 ? meant : `${meant} #${meantCount}`,
        };
        return Object.assign(own, alteration);
      }),
    );
}

export function alteredText(module: SpecModule, { from, to, replacement }: Alteration): string {
  return module.text.slice(0, from) + replacement + module.text.slice(to);
}

/** Those of every module whose rules are altered. `roots`: the operators that models name as their behaviour, by module. */
export function allMutants(
  modules: ReadonlyMap<string, SpecModule>,
  roots: ReadonlyArray<{ readonly module: string; readonly operator: string }>,
): readonly SpecMutant[] {
  return ALTERED.flatMap((name) => {
    const module = modules.get(name);
    if (module === undefined) return [];
    const users = roots.filter((root) => closure(modules, root.module).has(name));
    const relevant = new Set<string>();
    for (const root of users) {
      const read = [...closure(modules, root.module)].map((each) => modules.get(each)!);
      for (const reachedName of reached(read, [root.operator])) relevant.add(reachedName);
    }
    return mutantsOf(module, relevant);
  });
}
