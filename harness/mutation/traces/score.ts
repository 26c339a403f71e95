/**
 * The score of the traces: how many alterations were rejected, by what, and what became of the others.
 *
 * Responsible for: the sums, and for telling explained survivors from others. An explanation is of the alteration that is judged of its class. It is stale if that is
 * rejected, or not made any more: it must go, for it explains nothing.
 */
import { percent } from '../core/score.ts';
import type { TraceMutant } from './alterations.ts';
import type { TraceVerdict } from './judging.ts';

export interface JudgedTrace {
  readonly mutant: TraceMutant;
  readonly verdict: TraceVerdict;
  /** Which trace it alters. */
  readonly source: string;
  /** Of the altered event, from 1. */
  readonly line: number;
}

interface Survivor {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

export interface TraceScore {
  readonly mutants: number;
  readonly killed: number;
  /** Of all verdicts. */
  readonly verdicts: Readonly<Record<TraceVerdict, number>>;
  /** Without an explanation. */
  readonly survivors: readonly Survivor[];
  readonly explained: readonly (Survivor & { readonly why: string })[];
  readonly stale: readonly string[];
}

export interface Scored {
  readonly judged: readonly JudgedTrace[];
  /** By class; none where they were made for another trace. */
  readonly explanations: ReadonlyMap<string, string>;
  /** The classes of all alterations that are made, judged or not. */
  readonly all: ReadonlySet<string>;
}

export function scoreOf({ judged, explanations, all }: Scored): TraceScore {
  const count = (kind: TraceVerdict): number => judged.filter(({ verdict }) => verdict === kind).length;
  const accepted = judged.filter(({ verdict }) => verdict === 'accepted');
  const survived = accepted.map(({ mutant, source, line }) => {
    const { name, className: what } = mutant;
    return { survivor: { name, file: source, line, what }, why: explanations.get(what) ?? null };
  });
  const rejected = judged.filter(({ verdict }) => verdict !== 'accepted');
  const names = new Set(rejected.map(({ mutant }) => mutant.className));
  return {
    mutants: judged.length,
    killed: judged.length - accepted.length,
    verdicts: {
      accepted: count('accepted'),
      rejected: count('rejected'),
      contradicted: count('contradicted'),
      unreadable: count('unreadable'),
      unjudged: count('unjudged'),
    },
    survivors: survived.flatMap(({ survivor, why }) => (why === null ? [survivor] : [])),
    explained: survived.flatMap(({ survivor, why }) => (why === null ? [] : [{ ...survivor, why }])),
    stale: [...explanations.keys()].filter((what) => names.has(what) || !all.has(what)),
  };
}

/** What the command prints last. */
export function tellScore({ mutants, killed, verdicts, survivors, explained, stale }: TraceScore): string[] {
  const { rejected, contradicted, unreadable, unjudged } = verdicts;
  return [
    ...explained.map(({ name, why }) => `explained  ${name}: ${why}`),
    ...survivors.map(({ name, file, line }) => `ACCEPTED   ${name} (${file}, line ${line})`),
    ...stale.map((name) => `STALE      ${name} is explained, and was rejected or is not made any more`),
    `${killed} of ${mutants} alterations rejected (${percent(killed, mutants)}): ${contradicted} contradict the rest of the trace, ${rejected} are no behaviour to TLC, ` +
      `${unreadable} cannot be read, and of ${unjudged} TLC can say nothing`,
    `${explained.length} that were accepted are explained, ${survivors.length} are not`,
  ];
}
