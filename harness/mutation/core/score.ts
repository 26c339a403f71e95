/**
 * The score of the core: how many mutants were killed, by whom, and what became of the others.
 *
 * Responsible for: the sums, and for telling explained survivors from others. An explanation is stale if its mutant is killed, or is not
 * made any more: it must go, for it explains nothing.
 */
import type { JudgeName, Verdict } from './judging.ts';
import type { CoreMutant } from './mutants.ts';

export interface Judged {
  readonly mutant: Pick<CoreMutant, 'name' | 'file' | 'line' | 'what'>;
  readonly verdict: Verdict;
}

export interface Survivor {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

export interface CoreScore {
  readonly mutants: number;
  readonly killed: number;
  readonly killedBy: Readonly<Record<JudgeName, number>>;
  /** Of those that were killed. */
  readonly timeOuts: number;
  readonly crashes: number;
  /** Without an explanation. */
  readonly survivors: readonly Survivor[];
  readonly explained: readonly (Survivor & { readonly why: string })[];
  readonly stale: readonly string[];
}

/** `explanations`: by the mutant's name. `all`: the names of all mutants that are made, judged or not. */
export function scoreOf(
  judged: readonly Judged[],
  explanations: ReadonlyMap<string, string>,
  all: ReadonlySet<string>,
): CoreScore {
  const killed = judged.flatMap(({ mutant, verdict }) =>
    verdict.kind === 'killed' ? [{ ...verdict, name: mutant.name }] : [],
  );
  const survived = judged
    .filter(({ verdict }) => verdict.kind === 'survived')
    .map(({ mutant: { name, file, line, what } }) => ({ name, file, line, what }));
  const by = (name: JudgeName): number => killed.filter((verdict) => verdict.by === name).length;
  const names = new Set(killed.map(({ name }) => name));
  return {
    mutants: judged.length,
    killed: killed.length,
    killedBy: { unit: by('unit'), replay: by('replay'), simulator: by('simulator') },
    timeOuts: killed.filter(({ how }) => how === 'timeOut').length,
    crashes: killed.filter(({ how }) => how === 'crash').length,
    survivors: survived.filter(({ name }) => !explanations.has(name)),
    explained: survived.flatMap((survivor) => {
      const why = explanations.get(survivor.name);
      return why === undefined ? [] : [{ ...survivor, why }];
    }),
    stale: [...explanations.keys()].filter((name) => names.has(name) || !all.has(name)),
  };
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** What the command prints last. */
export function tellScore(score: CoreScore): string[] {
  const { mutants, killed, killedBy, timeOuts, crashes, survivors, explained, stale } = score;
  return [
    ...explained.map(({ name, why }) => `explained  ${name}: ${why}`),
    ...survivors.map(({ file, line, name }) => `SURVIVED   ${name} (${file}:${line})`),
    ...stale.map((name) => `STALE      ${name} is explained, and was killed or is not made any more`),
    `${killed} of ${mutants} mutants of the core killed (${percent(killed, mutants)}): ${killedBy.unit} by unit tests, ${killedBy.replay} by the replay, ` +
      `${killedBy.simulator} by the simulator; ${timeOuts} of them never ended, ${crashes} took their process along`,
    `${explained.length} survivors are explained, ${survivors.length} are not: ${percent(killed, mutants - explained.length)} of those that anything could notice`,
  ];
}
