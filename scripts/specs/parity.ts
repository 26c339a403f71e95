/**
 * The parity of specs/MultiPaxos.tla and the consensus core: every action is a function and a trace event of the same name.
 *
 * Responsible for: reading the names out of the sources and making the README's table from them. Pure: text in, facts out.
 */

/** What has no function of the same name, and why. */
export const PARITY_EXCEPTIONS: Readonly<
  Record<string, { readonly function: string | null; readonly why: string }>
> = {
  Crash: { function: null, why: 'the process or the machine dies' },
  Restart: { function: 'createState', why: 'a new life begins with what the log recovered' },
};

export interface SourceFile {
  /** Name within its folder, such as `leader.ts`. */
  readonly name: string;
  readonly text: string;
}

/** Actions of a module: the operators that set `act`. @throws Error if one tells another's name. */
export function specActions(tla: string): readonly string[] {
  const actions: string[] = [];
  let operator: string | null = null;
  for (const line of tla.split('\n')) {
    operator = /^([A-Z]\w*)(?:\([^)]*\))? ==/.exec(line)?.[1] ?? operator;
    const name = /act' = \[name \|-> "(\w+)"/.exec(line)?.[1];
    if (name === undefined) continue;
    if (name !== operator) throw new Error(`${operator} says that it is ${name}`);
    actions.push(name);
  }
  return actions;
}

/** The members of a union of string literals, such as `ActionName`. */
export function unionMembers(source: string, type: string): readonly string[] {
  const body = new RegExp(`export type ${type} =([^;]+);`).exec(source)?.[1] ?? '';
  return [...body.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
}

/** Exported functions, and the file of each. */
export function exportedFunctions(files: readonly SourceFile[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, text } of files) {
    for (const match of text.matchAll(/^export function (\w+)/gm)) found.set(match[1] ?? '', name);
  }
  return found;
}

/** Events that the core emits: first arguments of `traceAction`. */
export function tracedEvents(files: readonly SourceFile[]): ReadonlySet<string> {
  const names = files.flatMap(({ text }) => [...text.matchAll(/traceAction\(run, '(\w+)'/g)]);
  return new Set(names.map((match) => match[1] ?? ''));
}

export function functionName(action: string): string | null {
  const exception = PARITY_EXCEPTIONS[action];
  return exception === undefined ? action.charAt(0).toLowerCase() + action.slice(1) : exception.function;
}

/** The README's table, one row for each action in the order of the specification. */
export function parityTable(actions: readonly string[], files: readonly SourceFile[]): string {
  const functions = exportedFunctions(files);
  const events = tracedEvents(files);
  const rows = actions.map((action) => {
    const name = functionName(action);
    const why = PARITY_EXCEPTIONS[action]?.why;
    const where = name === null ? '–' : `\`${name}\` in ${functions.get(name) ?? '?'}`;
    const event = events.has(action) ? `\`${action}\`` : '–';
    return `| \`${action}\` | ${where}${why === undefined ? '' : ` (${why})`} | ${event} |`;
  });
  return ['| spec action | function | event |', '|---|---|---|', ...rows].join('\n');
}

/** Actions of a module: the operators that its `Next` uses and that say what becomes of a variable, themselves or by another. In their order there. */
export function nextActions(tla: string): readonly string[] {
  const bodies = operatorBodies(tla);
  const isAction = (name: string): boolean => {
    const body = bodies.get(name);
    if (body === undefined) return false;
    return /UNCHANGED|\w'/.test(body) || namesIn(body).some((used) => used !== name && isAction(used));
  };
  const next = bodies.get('Next') ?? '';
  return [...new Set(namesIn(next))].filter(isAction);
}

/** The text of each operator at the beginning of a line, without comments. */
function operatorBodies(tla: string): ReadonlyMap<string, string> {
  const text = tla.replaceAll(/\(\*[\s\S]*?\*\)/g, '').replaceAll(/\\\*.*$/gm, '');
  const bodies = new Map<string, string>();
  for (const part of text.split(/^(?=[A-Z]\w*(?:\([^)]*\))? ==)/m)) {
    const name = /^[A-Z]\w*/.exec(part)?.[0];
    if (name !== undefined) bodies.set(name, part.slice(part.indexOf('==')));
  }
  return bodies;
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/\b[A-Z]\w*/g)].map(([name]) => name);
}
