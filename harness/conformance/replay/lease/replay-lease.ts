/**
 * Leads real cores through behaviours of Lease that TLC made up: clocks that drift apart, heartbeats and acknowledgements late and twice, promises, leaderships, crashes. After every step each core must know what the spec's replica knows,
 * refuse whom that refuses, and hold the lease while that does; and what the step says must be said.
 *
 * Responsible for: the comparison.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Message } from '../../../../server/src/multipaxos/types/messages.ts';
import type { Divergence, ReplayOutcome } from '../replay.ts';
import type { TlaState } from '../tla-value.ts';
import { coreTimeMs, LeaseDriver } from './lease-driver.ts';
import {
  actionOfLease,
  clocksOf,
  leaseView,
  promisersOf,
  type LeaseAction,
  type LeaseView,
} from './lease-view.ts';

/** What the others must be told when it is done. */
const says: Readonly<Record<string, Message['kind']>> = {
  Heartbeat: 'Heartbeat',
  HandleHeartbeat: 'HeartbeatAck',
  GivePromise: 'Promise',
};

export function replayLease(states: readonly TlaState[]): ReplayOutcome {
  const first = states[0]!;
  const replicas = clocksOf(first).map((_, i) => i + 1);
  const owner = (ballot: number): number => ((ballot - 1) % replicas.length) + 1;
  const drivers = replicas.map((number) => new LeaseDriver(number, owner));
  const passTo = (state: TlaState): void => {
    for (const [i, clock] of clocksOf(state).entries()) drivers[i]!.pass(clock);
  };
  passTo(first);
  elect(drivers);
  const actions = new Map<string, number>();
  for (let step = 0; step < states.length; step++) {
    const state = states[step]!;
    const action = actionOfLease(state);
    const diverges = (what: string, spec: unknown, core: unknown): ReplayOutcome => {
      const divergence: Divergence = { step, action: JSON.stringify(action), what, spec, core };
      return { steps: step, actions, divergence };
    };
    if (step > 0) actions.set(action.name, (actions.get(action.name) ?? 0) + 1);
    if (action.name === 'Tick') passTo(state);
    else if (step > 0) {
      const driver = drivers[action.replica - 1]!;
      const promisedBy = promisersOf(states[step - 1]!, action.ballot).filter(
        (one) => one !== action.replica,
      );
      const sent = driver.take(action, promisedBy);
      const missing = unsaid(action, sent, owner);
      if (missing !== null) return diverges('the core does not say what the spec does', missing, sent);
    }
    for (const number of replicas) {
      const spec = leaseView(state, number);
      const core = drivers[number - 1]!.view(replicas);
      const field = (Object.keys(spec) as (keyof LeaseView)[]).find(
        (name) => !isDeepStrictEqual(spec[name], core[name]),
      );
      if (field !== undefined) return diverges(`r${number}: ${field}`, spec[field], core[field]);
    }
  }
  return { steps: states.length - 1, actions, divergence: null };
}

/** As Init has it: replica 1 was elected by all. */
function elect(drivers: readonly LeaseDriver[]): void {
  const promise: LeaseAction = { name: 'GivePromise', replica: 1, from: 0, ballot: 1, sentAt: 0 };
  for (const driver of drivers) driver.take(promise, []);
  const others = drivers.slice(1).map((_, i) => i + 2);
  drivers[0]!.take({ ...promise, name: 'Lead' }, others);
}

/** Null: all is said, and of when it was sent. A candidate asks the others. */
function unsaid(
  action: LeaseAction,
  sent: readonly Message[],
  owner: (ballot: number) => number,
): string | null {
  const isOwn = action.name === 'GivePromise' && owner(action.ballot) === action.replica;
  const kind = isOwn ? 'Prepare' : says[action.name];
  if (kind === undefined) return null;
  const isSaid = sent.some(
    (message) =>
      message.kind === kind &&
      message.ballot.round === action.ballot &&
      (!('sentAtMs' in message) || message.sentAtMs === coreTimeMs(action.sentAt)),
  );
  return isSaid ? null : kind;
}
