/** What an operator is told of a comparison: what was done about replicas that differ, and what can be. Pure. */
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { type SkippedObject, storedElsewhere } from '../../ports/control.ts';
import type { Reported } from './verify-judgement.ts';

export interface AdviceOptions {
  readonly reports: readonly Reported[];
  /** Who is told that it differs. */
  readonly told: readonly ReplicaId[];
  /** Who differs from nobody, or from those only that a majority contradicts. */
  readonly equal: readonly ReplicaId[];
  /** Those are a majority of the voters. */
  readonly isProven: boolean;
  /** Some that reported differ from each other. */
  readonly isContradicted: boolean;
  readonly repair: boolean;
}

const leftOutMax = 8;

/** Whole sentences. Empty: there is nothing to say. */
export function adviceOn(options: AdviceOptions): readonly string[] {
  const { isProven, isContradicted } = options;
  const isTorn = isContradicted && !isProven;
  return [...(isTorn ? onContradiction(options) : onAgreement(options)), ...onLeftOut(options)];
}

function onAgreement({ reports, told, equal, isProven, repair }: AdviceOptions): string[] {
  const advice: string[] = [];
  const differing = reports
    .filter(({ replica, isFenced }) => isFenced || told.includes(replica))
    .map(({ replica }) => replica);
  if (differing.length > 0 && equal.length > 0) {
    const whom = `the database of ${equal.join(' or ')}`;
    advice.push(
      repair
        ? `${eachOf(differing)} takes a copy of ${whom}, and what it had is set aside. "barista status" shows how far that is.`
        : `${eachOf(differing)} serves and leads no more. "barista verify --repair" has it take a copy of ${whom}; what it has is set aside then.`,
    );
  }
  if (!isProven && equal.length > 0) {
    const alone =
      equal.length === 1 ? `What ${equal[0]} has is` : 'Those that reported have the same, but it is';
    advice.push(`${alone} confirmed by no majority of the voters: compare again when the others are back.`);
  }
  return advice;
}

/** Nothing says who is right. */
function onContradiction({ reports, repair }: AdviceOptions): string[] {
  const present = reports.filter(({ digest }) => digest !== null).map(({ replica }) => replica);
  // One that is fenced has no word in it.
  const silent = reports
    .filter(({ digest, isFenced }) => digest === null && !isFenced)
    .map(({ replica }) => replica);
  const advice = [
    `${present.join(', ')} contradict each other, and no majority of the voters has the same: nobody is told to stop${repair ? ', and nothing is repaired' : ''}.`,
  ];
  if (silent.length > 0)
    advice.push(`${silent.join(', ')} may decide: compare again when there is a report of all.`);
  advice.push(
    'Else decide yourself which one is right. Stop all others, move the folder "postgres" in their data directories away, and start them again one by one: each takes a copy of the database that is left.',
  );
  return advice;
}

function onLeftOut({ reports }: AdviceOptions): string[] {
  const leftOut = [...leftOutOf(reports)];
  if (leftOut.length === 0) return [];
  const shown = leftOut.slice(0, leftOutMax).map(([place, reason]) => `${place} (${reason})`);
  const more = leftOut.length > leftOutMax ? `, and ${leftOut.length - leftOutMax} more` : '';
  return [`Not compared by all: ${shown.join(', ')}${more}.`];
}

/** Why what was not compared by all was left out, by its place. */
function leftOutOf(reports: readonly Reported[]): ReadonlyMap<string, string> {
  const leftOut = new Map<string, string>();
  for (const { digest } of reports)
    for (const object of digest?.skipped ?? []) leftOut.set(placeOf(object), object.reason);
  return leftOut;
}

/** How many were left out that are stored here. */
export function countLeftOut(reports: readonly Reported[]): number {
  return [...leftOutOf(reports).values()].filter((reason) => reason !== storedElsewhere).length;
}

function placeOf({ database, name }: SkippedObject): string {
  if (name === '') return database === '' ? 'what all databases share' : `database ${database}`;
  return database === '' ? name : `${name} of ${database}`;
}

function eachOf(replicas: readonly ReplicaId[]): string {
  return replicas.length === 1 ? replicas[0]! : `Each of ${replicas.join(', ')}`;
}
