/**
 * Reads the behaviour that TLC prints when it refutes a model: its steps, what each changes, and how a behaviour without end goes on. Pure.
 *
 * Knows TLC 2.18 only, the version that `tlc.ts` fetches. Values stay the texts that TLC writes, on one line each.
 */

import type { Counterexample, CounterexampleStep } from '../../dashboard/src/spec/counterexample.ts';

type TlcTrace = Pick<Counterexample, 'steps' | 'loop'>;

const HEAD = /^State (\d+): (.*)$/;
const BACK = /^Back to state (\d+)(?:: (.*))?$/;
const LABEL = /^<(?:(\w+)(?:\(.*\))? )?line (\d+), col (\d+) to line (\d+), col (\d+) of module (\w+)>$/;
const VARIABLE = /^(?:\/\\ )?(\w+) = (.*)$/;

/** @throws Error at what is no state, or if there is no behaviour in the output */
export function readTlcTrace(output: string): TlcTrace {
  const steps: CounterexampleStep[] = [];
  let loop: Counterexample['loop'] = null;
  const all = new Map<string, string>();
  const lines = output.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const back = BACK.exec(line);
    if (back !== null) loop = { kind: 'back', state: Number(back[1]), action: labelOf(back[2] ?? '').action };
    const head = HEAD.exec(line);
    if (head === null) continue;
    if (head[2] === 'Stuttering') {
      loop = { kind: 'stutters' };
      continue;
    }
    if (Number(head[1]) !== steps.length + 1)
      throw new Error(`TLC printed state ${head[1]} where state ${steps.length + 1} was expected`);
    const body: string[] = [];
    while (at + 1 < lines.length && lines[at + 1]!.trim() !== '') body.push(lines[++at]!);
    steps.push({ ...labelOf(head[2]!), changed: changes(all, body) });
  }
  if (steps.length === 0) throw new Error('TLC printed no behaviour');
  return { steps, loop };
}

function labelOf(label: string): Pick<CounterexampleStep, 'action' | 'place'> {
  const match = LABEL.exec(label);
  if (match === null) return { action: null, place: null };
  const [line, column, endLine, endColumn] = match.slice(2, 6).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const action = match[1] === undefined || match[1] === 'Action' ? null : match[1];
  return { action, place: { module: match[6]!, line, column, endLine, endColumn } };
}

/** Of a state's lines, what differs from `all`, which is brought up to it. */
function changes(all: Map<string, string>, body: readonly string[]): Record<string, string> {
  const values: [string, string][] = [];
  for (const line of body) {
    const start = VARIABLE.exec(line);
    if (start !== null) values.push([start[1]!, start[2]!]);
    else if (values.length > 0) values.at(-1)![1] += ` ${line.trim()}`;
    else throw new Error(`this begins no state: ${line}`);
  }
  const changed: Record<string, string> = {};
  for (const [name, text] of values) {
    const value = compact(text);
    if (all.get(name) === value) continue;
    all.set(name, value);
    changed[name] = value;
  }
  return changed;
}

/** Without the spaces between symbols, which TLC writes for people; what is in strings stays. */
export function compact(value: string): string {
  return value
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\s+/g, ' ').replaceAll(/ ?(\|->|<<|>>|:>|@@|[[\]{}(),]) ?/g, '$1'),
    )
    .join('')
    .trim();
}
