/**
 * The texts that the view of the specifications shows, as the build has them: each is loaded when it is first asked for.
 *
 * Not pure: it is the build's file system. What the texts say is read elsewhere.
 */
import { type Counterexample, familyOf, type ListedCounterexample } from './counterexample.ts';
import { modulesBelow } from './modules-below.ts';

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
  const below = modulesBelow(module);
  let asked = below.next();
  while (asked.done !== true) asked = below.next(await moduleText(asked.value));
  return asked.value;
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

const refused = import.meta.glob('../../../specs/refused/*.ndjson', {
  query: '?raw',
  import: 'default',
}) as Load<string>;

/** A recorded trace of a group into which a bug is planted: the specification refuses it (scripts/specs/refused-trace.ts). */
export async function refusedTrace(): Promise<string> {
  const [load] = Object.values(refused);
  if (load === undefined) throw new Error('the page has no refused trace');
  return load();
}

/** Models that are small enough to be walked through by hand, and that the evaluator reads. */
export const handModels = [
  { name: 'MCMultiPaxos-plain', title: 'MultiPaxos: two replicas, one leadership' },
  { name: 'MCMultiPaxos-plain-rivals', title: 'MultiPaxos: two replicas that both stand' },
  { name: 'MCMultiPaxos-tiny', title: 'MultiPaxos: three replicas, two leaderships' },
  { name: 'MCLease-tiny', title: 'Lease' },
  { name: 'MCRecovery-tiny', title: 'Recovery' },
  { name: 'MCOrderedApply-tiny', title: 'OrderedApply' },
  { name: 'MCPrimaryCopies-tiny', title: 'PrimaryCopies' },
  { name: 'MCPaxos-tiny', title: 'Paxos' },
  { name: 'MCFollowerReads-tiny', title: 'FollowerReads' },
  { name: 'MCStatementApply-tiny', title: 'StatementApply' },
  { name: 'MCStatementEnds-tiny', title: 'StatementEnds' },
  { name: 'MCStatementAdoption-tiny', title: 'StatementAdoption' },
  { name: 'MCRequestOutcomes-tiny', title: 'RequestOutcomes' },
  { name: 'MCConsensus-tiny', title: 'Consensus' },
] as const;

const configs = import.meta.glob('../../../specs/{MC*-tiny,MCMultiPaxos-plain*}.cfg', {
  query: '?raw',
  import: 'default',
}) as Load<string>;

/** @throws Error if the page has no such model */
export async function modelConfig(name: string): Promise<string> {
  const load = configs[`../../../specs/${name}.cfg`];
  if (load === undefined) throw new Error(`the page has no model ${name}`);
  return load();
}
