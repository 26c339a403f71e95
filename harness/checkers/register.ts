/**
 * Linearizability of registers: is there one order of all operations, in agreement with real time, in which each answer is right?
 *
 * Each key is judged by itself (a history is linearizable if and only if each object's part is). The search goes through the history once and keeps every
 * configuration that may hold: the register's value and which open operations have taken effect already. Configurations are made only when an
 * operation ends and must have taken effect, and of two with the same value and the same ended operations, the one that has used more unknown ones is dropped:
 * whatever can follow it can follow the other. A read that fits takes effect at once, as it changes nothing. Bounded in configurations; past the bound it gives up and says so.
 *
 * A bounded read may take effect as long before it began as it may be old. Reads of snapshots of any age have no place in the order; what sessions were shown is register-sessions.ts's.
 */
import { describeCall, type Anomaly, type Verdict } from './anomaly.ts';
import type { Call } from './history.ts';
import { bindsLeader, isAtFollower, type ReadRules, statedReadRules } from './read-terms.ts';
import { type Configuration, Frontier, insert, type RegisterValue } from './register-frontier.ts';
import { checkRegisterSessions } from './register-sessions.ts';

/** `asked` of a call: `answer` of a read has the value, of a cas whether it swapped. */
export type RegisterCommand =
  | { readonly f: 'read'; readonly key: string; readonly value: number | null }
  | { readonly f: 'write'; readonly key: string; readonly value: number }
  | {
      readonly f: 'cas';
      readonly key: string;
      readonly from: number | null;
      readonly to: number;
      readonly swapped: boolean | null;
    };

interface Step {
  readonly call: Call;
  readonly command: RegisterCommand;
}

export interface RegisterOptions {
  readonly configurationsMax: number;
  readonly initial: RegisterValue;
  readonly rules: ReadRules;
}

const defaults: RegisterOptions = { configurationsMax: 300_000, initial: null, rules: statedReadRules };

export function checkRegisters(calls: readonly Call[], options: Partial<RegisterOptions> = {}): Verdict {
  const bounds = { ...defaults, ...options };
  const verdicts = judgedTogether(calls, bounds.rules).map((together) => checkOrder(together, bounds));
  return {
    anomalies: [...verdicts.flatMap(({ anomalies }) => anomalies), ...checkRegisterSessions(calls)],
    gaveUp: verdicts.find(({ gaveUp }) => gaveUp !== null)?.gaveUp ?? null,
  };
}

/** All together; where the leader may miss what some reads at followers have shown, these with what is written, and without what is only read at the leader. */
function judgedTogether(calls: readonly Call[], rules: ReadRules): readonly (readonly Call[])[] {
  const binding = calls.filter((call) => bindsLeader(call, rules));
  if (binding.length === calls.length) return [calls];
  return [binding, calls.filter((call) => isAtFollower(call) || !onlyReads(call))];
}

/** Like a swap that has not found what it expects. */
function onlyReads({ f, outcome, answer }: Call): boolean {
  return (
    f === 'read' || (f === 'cas' && outcome === 'ok' && !(answer as { readonly swapped: boolean }).swapped)
  );
}

function checkOrder(calls: readonly Call[], bounds: RegisterOptions): Verdict {
  const keys = new Map<string, Step[]>();
  for (const call of calls) {
    const command = commandOf(call);
    if (command === null) continue;
    const steps = keys.get(command.key);
    if (steps === undefined) keys.set(command.key, [{ call, command }]);
    else steps.push({ call, command });
  }
  const anomalies: Anomaly[] = [];
  const undecided: string[] = [];
  for (const [key, steps] of keys) {
    const found = checkKey(key, steps, bounds);
    if (found === 'gaveUp') undecided.push(key);
    else if (found !== null) anomalies.push(found);
  }
  const gaveUp = `more than ${bounds.configurationsMax} configurations for register ${undecided.join(', ')}`;
  return { anomalies, gaveUp: undecided.length === 0 ? null : gaveUp };
}

/** Null for what cannot matter: what failed, reads whose answer nobody got, and those of any age. */
function commandOf(call: Call): RegisterCommand | null {
  const { key } = call.asked as { readonly key: string };
  if (call.outcome === 'fail') return null;
  switch (call.f) {
    case 'read':
      return call.outcome === 'info' || call.terms?.mode === 'snapshot'
        ? null
        : { f: 'read', key, value: (call.answer as { readonly value: RegisterValue }).value };
    case 'write':
      return { f: 'write', key, value: (call.asked as { readonly value: number }).value };
    case 'cas': {
      const { from, to } = call.asked as { readonly from: RegisterValue; readonly to: number };
      const swapped = call.outcome === 'ok' ? (call.answer as { readonly swapped: boolean }).swapped : null;
      return { f: 'cas', key, from, to, swapped };
    }
    default:
      throw new RangeError(`registers do not know the operation ${call.f}`);
  }
}

/** The value after the command, or undefined if it cannot have taken effect so. */
export function applyRegister(value: RegisterValue, command: RegisterCommand): RegisterValue | undefined {
  switch (command.f) {
    case 'read':
      return command.value === value ? value : undefined;
    case 'write':
      return command.value;
    case 'cas':
      if (command.from === value) return command.swapped === false ? undefined : command.to;
      // One whose outcome nobody knows changes nothing here: as if it had not taken effect yet.
      return command.swapped === false ? value : undefined;
    default:
      return command satisfies never;
  }
}

function checkKey(key: string, steps: readonly Step[], options: RegisterOptions): Anomaly | 'gaveUp' | null {
  const events = steps
    .flatMap(({ call }, id) => [
      { at: Math.min(call.begin, call.currentAt), id, isEnd: false },
      { at: call.end, id, isEnd: true },
    ])
    .filter(({ at }) => Number.isFinite(at))
    .sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));
  const open = new Set<number>();
  let configurations: readonly Configuration[] = [{ value: options.initial, done: [], unknown: [] }];
  const budget = { left: options.configurationsMax };
  for (const { id, isEnd } of events) {
    if (!isEnd) {
      open.add(id);
      continue;
    }
    const next = linearize({ steps, open, target: id, budget }, configurations);
    if (next === null) return 'gaveUp';
    if (next.length === 0) return explain(key, steps, id, open, configurations);
    open.delete(id);
    configurations = next;
  }
  return null;
}

interface Search {
  readonly steps: readonly Step[];
  readonly open: ReadonlySet<number>;
  /** The operation that ends now, so must have taken effect. */
  readonly target: number;
  readonly budget: { left: number };
}

/** Every configuration in which the target has taken effect, and no longer mentions it. Null: the budget is spent. */
function linearize(search: Search, from: readonly Configuration[]): readonly Configuration[] | null {
  const { steps, open, target, budget } = search;
  const found = new Frontier();
  const seen = new Frontier();
  const reads = [...open].filter((id) => steps[id]!.command.f === 'read');
  const withReads = (configuration: Configuration): Configuration => {
    const fit = reads.filter(
      (id) =>
        !configuration.done.includes(id) &&
        applyRegister(configuration.value, steps[id]!.command) !== undefined,
    );
    return fit.length === 0
      ? configuration
      : { ...configuration, done: fit.reduce(insert, configuration.done) };
  };
  let layer: Configuration[] = from.map(withReads).filter((configuration) => seen.add(configuration));
  while (layer.length > 0) {
    const following: Configuration[] = [];
    for (const configuration of layer) {
      if (configuration.done.includes(target)) {
        found.add({ ...configuration, done: configuration.done.filter((id) => id !== target) });
        continue;
      }
      for (const id of open) {
        if (configuration.done.includes(id) || configuration.unknown.includes(id)) continue;
        const { call, command } = steps[id]!;
        if (command.f === 'read') continue;
        const value = applyRegister(configuration.value, command);
        if (value === undefined) continue;
        if (budget.left-- <= 0) return null;
        const isUnknown = call.outcome === 'info';
        const next = withReads({
          value,
          done: isUnknown ? configuration.done : insert(configuration.done, id),
          unknown: isUnknown ? insert(configuration.unknown, id) : configuration.unknown,
        });
        if (seen.add(next)) following.push(next);
      }
    }
    layer = following;
  }
  return found.all();
}

function explain(
  key: string,
  steps: readonly Step[],
  id: number,
  open: ReadonlySet<number>,
  before: readonly Configuration[],
): Anomaly {
  const { call } = steps[id]!;
  const values = [...new Set(before.map(({ value }) => JSON.stringify(value)))];
  const earlier = steps
    .filter((step) => step.call.end < call.end)
    .sort((a, b) => a.call.end - b.call.end)
    .slice(-5);
  return {
    kind: 'nonlinearizable',
    summary: `register ${key}: ${describeCall(call)} fits no order of the operations`,
    detail: [
      `Before it, in every order that fits what came earlier, the register holds ${values.join(' or ')}.`,
      'The last operations that had ended by then:',
      ...earlier.map((step) => `  ${describeCall(step.call)}`),
      'Under way at the same time:',
      ...[...open]
        .filter((other) => other !== id)
        .slice(-8)
        .map((other) => `  ${describeCall(steps[other]!.call)}`),
    ],
  };
}
