/**
 * What happened in a run of TLC: which actions were taken, and which sights a model has seen.
 *
 * Responsible for: reading that from TLC's output. A model in which nothing happens holds whatever one likes, so the manifest says what must.
 * Pure: text in, names out. A sight is what a model prints as `<<"seen", "name">>` (see Sights in MCOrderedApply.tla).
 */

/** TLC prints its statistics every so many minutes, and at the end: so rarely that only the end is printed. */
export const COVERAGE_MINUTES = 1000;

const LINE =
  /^<(\w+) line \d+, col \d+ to line \d+, col \d+ of module (\w+)(?: \((\d+) (\d+) (\d+) (\d+)\))?>: (\d+):(\d+)$/gm;

/** The actions that a model names itself as it takes them (TellActions in MCMultiPaxos.tla). */
export function actionsTold(output: string): ReadonlySet<string> {
  return new Set([...output.matchAll(/<<\s*"taken",\s*"([^"]*)"\s*>>/g)].map((match) => match[1] ?? ''));
}

/**
 * Names of the actions that led to some state, of a run with `-coverage`. Where TLC gives only a place in the next-state relation, the names
 * that stand there count. `sourceOf`: the text of a module, or null.
 */
export function actionsTaken(
  output: string,
  sourceOf: (module: string) => string | null,
): ReadonlySet<string> {
  const taken = new Set<string>();
  const statistics = output.slice(output.lastIndexOf('The coverage statistics at'));
  for (const [, name = '', module = '', ...numbers] of statistics.matchAll(LINE)) {
    const [line, column, lastLine, lastColumn, , generated] = numbers.map(Number);
    if (generated === 0) continue;
    taken.add(name);
    if (line === undefined || column === undefined || lastLine === undefined || lastColumn === undefined)
      continue;
    const place = textAt(sourceOf(module) ?? '', { line, column, lastLine, lastColumn });
    for (const [identifier] of place.matchAll(/\b[A-Z]\w*/g)) taken.add(identifier);
  }
  return taken;
}

interface Place {
  readonly line: number;
  readonly column: number;
  readonly lastLine: number;
  readonly lastColumn: number;
}

/** Only places within one line: an action's own body spans many, and names what it uses. */
function textAt(source: string, { line, column, lastLine, lastColumn }: Place): string {
  if (line !== lastLine) return '';
  return (source.split('\n')[line - 1] ?? '').slice(column - 1, lastColumn);
}

/** The names of the sights that were printed. */
export function sightsSeen(output: string): ReadonlySet<string> {
  return new Set([...output.matchAll(/<<\s*"seen",\s*"([^"]*)"\s*>>/g)].map((match) => match[1] ?? ''));
}
