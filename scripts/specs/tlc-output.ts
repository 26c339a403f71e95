/**
 * Reads what TLC and SANY print. Pure: text in, facts out.
 *
 * Knows TLC 2.18 only, the version that `tlc.ts` fetches.
 */

/** Exit codes of TLC that a model may expect. Anything else is a failure of the tool or of the model's own text. */
export const TLC_EXIT = { ok: 0, deadlock: 11, invariant: 12, property: 13 } as const;

export interface TlcSummary {
  /** States that differ, under VIEW and SYMMETRY if there are any; null if TLC did not get that far. */
  readonly distinctStates: number | null;
  /** States made, duplicates included. In simulation mode: states checked. */
  readonly generatedStates: number | null;
  /** The violated invariant or property; `Deadlock` and `Temporal` where TLC gives no name; null if nothing was. */
  readonly violated: string | null;
  /** Length of the shortest (breadth-first) counterexample printed; 0 if none was. */
  readonly traceLength: number;
}

function lastMatch(text: string, pattern: RegExp): RegExpExecArray | null {
  let last: RegExpExecArray | null = null;
  for (const match of text.matchAll(pattern)) last = match;
  return last;
}

function toNumber(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits.replaceAll(',', ''));
}

function violatedName(output: string): string | null {
  const named =
    /^Error: Invariant (\S+) is violated/m.exec(output) ??
    /^Error: Action property (\S+) is violated/m.exec(output) ??
    /^Error: Property (\S+) is violated by the initial state/m.exec(output);
  // An action property without a name of its own, such as the refined spec's [Next]_vars, is given by its place.
  const placed = /^Error: Action property line .* of module (\w+) is violated/m.exec(output);
  if (placed !== null) return placed[1] ?? null;
  if (named !== null) return named[1] ?? null;
  if (/^Error: Temporal properties were violated/m.test(output)) return 'Temporal';
  if (/^Error: Deadlock reached/m.test(output)) return 'Deadlock';
  return null;
}

export function parseTlcOutput(output: string): TlcSummary {
  const counts = lastMatch(output, /^([\d,]+) states generated, ([\d,]+) distinct states found/gm);
  const simulated = lastMatch(output, /^The number of states generated: ([\d,]+)/gm);
  return {
    distinctStates: toNumber(counts?.[2]),
    generatedStates: toNumber(counts?.[1] ?? simulated?.[1]),
    violated: violatedName(output),
    traceLength: [...output.matchAll(/^State \d+: /gm)].length,
  };
}

/** SANY exits with 0 whatever happens, so its words decide. @returns what is wrong with the module, or null. */
export function sanyProblem(output: string, module: string): string | null {
  const bad =
    /(\*\*\* (?:Errors|Abort|Warnings).*|Parse Error|Fatal errors|Lexical error|Could not parse|Cannot find source file|Unknown operator)/.exec(
      output,
    );
  if (bad !== null) return output.slice(bad.index).trim();
  const processed = new RegExp(`^Semantic processing of module ${module}$`, 'm').test(output);
  return processed ? null : `SANY did not process module ${module}:\n${output}`;
}

/** What TLC says went wrong, without its Java stack; the end of the output if it names no error. */
export function errorText(output: string): string {
  const lines = output.split('\n').filter((line) => !/^\s+at /.test(line));
  const first = lines.findIndex((line) => /^(Error|Exception|java\.)/.test(line));
  return (first === -1 ? lines.slice(-30) : lines.slice(first, first + 30)).join('\n');
}
