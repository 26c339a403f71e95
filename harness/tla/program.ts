/**
 * The modules of a model as one program: what each name stands for once they are put together, and what the model puts in the place of it.
 *
 * Responsible for: EXTENDS, constants and replaced operators. Nothing is evaluated here.
 */
import type { ModelConfig } from './model-config.ts';
import { parseModule } from './parse-module.ts';
import { standardModules, type Builtin } from './standard-modules.ts';
import type { Definition, Expression, Module } from './syntax.ts';
import { TlaError } from './tla-error.ts';
import type { Value } from './value.ts';

export interface Program {
  /** In the order of their declaration. */
  readonly variables: readonly string[];
  readonly definitions: ReadonlyMap<string, Definition>;
  /** Constants that the model gives a value. */
  readonly values: ReadonlyMap<string, Value>;
  /** What stands for data, and the name that these have. */
  readonly data: ReadonlyMap<string, string>;
  readonly builtins: ReadonlyMap<string, Builtin>;
  readonly assumptions: readonly Expression[];
}

export interface ProgramSource {
  /** The text of each module that is not of the standard ones. */
  readonly modules: ReadonlyMap<string, string>;
  readonly main: string;
  /** The names of definitions whose bodies are given when the model is run: each time others. */
  readonly data: readonly string[];
  readonly config: ModelConfig;
}

/** Those that were read, by their texts: the same specification is run many times. */
const known = new Map<string, Module>();
const KNOWN_MAX = 32;

function moduleOf(text: string, name: string): Module {
  const found = known.get(text);
  if (found !== undefined) return found;
  const module = parseModule(text, name);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, module);
  return module;
}

/** @throws TlaError at what cannot be read, and at names that stand for nothing or for two things */
export function programOf({ modules, main, data: named, config }: ProgramSource): Program {
  const read = new Map<string, Module>();
  const builtins = new Map<string, Builtin>();
  const load = (name: string, from: string): void => {
    if (read.has(name)) return;
    const standard = standardModules[name];
    const text = modules.get(name);
    if (text !== undefined) {
      const module = moduleOf(text, name);
      if (module.name !== name) throw new TlaError(`${name} holds the module ${module.name}`);
      for (const one of module.extended) load(one, name);
      for (const one of module.instances) load(one.module, name);
      read.set(name, module);
    } else if (standard === undefined)
      throw new TlaError(`${from} needs the module ${name}, which is not there`);
    else for (const [operator, builtin] of Object.entries(standard)) builtins.set(operator, builtin);
  };
  load(main, 'the model');
  const instanced = new Set(
    [...read.values()].flatMap((module) => module.instances.map((one) => one.module)),
  );
  const all = [...read.values()].filter(({ name }) => !instanced.has(name));
  const definitions = new Map<string, Definition>();
  const data = new Map(named.map((name) => [name, name]));
  for (const definition of all.flatMap((module) => module.definitions)) {
    if ([definitions, data, builtins].some((known) => known.has(definition.name)))
      throw new TlaError(`${definition.name} is defined twice`, definition.place);
    definitions.set(definition.name, definition);
  }
  const constants = new Set(all.flatMap((module) => module.constants));
  const values = new Map(config.constants);
  const replaced = new Map(definitions);
  for (const [name, by] of config.replaced) {
    const definition = definitions.get(by);
    const value = values.get(by);
    const datum = data.get(by);
    if (definition === undefined && value === undefined && datum === undefined)
      throw new TlaError(`${by}, in the place of ${name}, is not defined`);
    if (!constants.has(name) && !definitions.has(name))
      throw new TlaError(`${name} is not defined, and cannot be replaced`);
    replaced.delete(name);
    if (definition !== undefined) replaced.set(name, definition);
    else if (datum !== undefined) data.set(name, datum);
    else values.set(name, value!);
  }
  for (const name of constants)
    if (!values.has(name) && !data.has(name) && !replaced.has(name))
      throw new TlaError(`the model says nothing of the constant ${name}`);
  return {
    variables: all.flatMap((module) => module.variables),
    definitions: replaced,
    values,
    data,
    builtins,
    assumptions: all.flatMap((module) => module.assumptions),
  };
}
