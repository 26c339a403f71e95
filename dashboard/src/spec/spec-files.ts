/**
 * The texts that the view of the specifications shows, as the build has them: each is loaded when it is first asked for.
 *
 * Not pure: it is the build's file system. What the texts say is read elsewhere.
 */
import { type Counterexample, familyOf, type ListedCounterexample } from './counterexample.ts';
import { modulesNamedIn } from './spec-text.ts';

type Load<T> = Readonly<Record<string, () => Promise<T>>>;

const modules = import.meta.glob('../../../specs/*.tla', {
  query: '?raw',
  import: 'default',
}) as Load<string>;
const families = import.meta.glob('../../../specs/counterexamples/Bug*.json', { import: 'default' }) as Load<
  readonly Counterexample[]
>;

/** By name; null: there is none, as of the standard modules. */
export async function moduleText(name: string): Promise<string | null> {
  return (await modules[`../../../specs/${name}.tla`]?.()) ?? null;
}

/** The module, and all that it rests on of those that are ours; the module itself first. */
export async function modulesOf(module: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const waiting = [module];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (found.has(name)) continue;
    const text = await moduleText(name);
    if (text === null) continue;
    found.set(name, text);
    waiting.push(...modulesNamedIn(text));
  }
  return found;
}

export async function listedCounterexamples(): Promise<readonly ListedCounterexample[]> {
  const { default: index } = await import('../../../specs/counterexamples/index.json');
  return index;
}

/** Null: there is none of that name. */
export async function counterexampleNamed(name: string): Promise<Counterexample | null> {
  const all = await families[`../../../specs/counterexamples/${familyOf(name)}.json`]?.();
  return all?.find((one) => one.name === name) ?? null;
}
