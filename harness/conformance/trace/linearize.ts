/**
 * Puts the events of all replicas into one order that causality allows, and turns them into steps of the spec.
 *
 * Events are taken by their time, but an event that takes a message waits until that message has been sent: two processes may
 * record a sending and its receipt in the wrong order. Every order that keeps each replica's own is as good as another.
 *
 * A killed process loses what it did in its last moments from its trace, though not from its disk or from the network. Those
 * steps are put in again where others show that they happened (lost-steps.ts). Nothing else is ever made up: where no order
 * fits, the earliest event is taken as it is, and TLC rejects it.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import {
  handedOutEarly,
  isUntold,
  knownVersion,
  meaningOf,
  missingMessages,
  namesUnknown,
  rejectIsEarly,
  survivingRecords,
} from './event-steps.ts';
import { lostStepBefore, lostStepsFor } from './lost-steps.ts';
import { begunBefore, type ConsensusEvent, type RecordedTrace } from './read-trace.ts';
import { noBallot, type SpecMessage } from './spec-message.ts';
import { applyStep, tellingHeartbeat, writeDurably } from './apply-step.ts';
import { configurationOf } from './spec-configuration.ts';
import { learnSettled } from './settled-before.ts';
import { newSpecState, replicaOf, sendMessages, wasSent, type SpecState, type Step } from './spec-state.ts';

/** More than any process can do in the moment between its last write to the trace and its end. */
const LOST_STEPS_MAX = 1000;

export interface TracedStep {
  readonly step: Step;
  readonly event: ConsensusEvent | null;
  /** Index of the event, from 1; for a step without one, of the event that it was put in for. */
  readonly number: number;
  /** The flush that a crash let through: nobody heard what it let go. */
  readonly isUnheard?: boolean;
}

export interface Linearized {
  readonly state: SpecState;
  readonly events: number;
  /** Steps put in for killed processes. */
  readonly lost: number;
}

/** Calls `visit` before each step is taken, in order. */
export type Visit = (step: TracedStep, index: number, state: SpecState) => void;

/** Where the events come from: of each replica in its own order. */
export interface EventSource {
  members(): readonly ReplicaId[];
  headOf(id: ReplicaId): ConsensusEvent | undefined;
  /** The head has been taken. */
  pass(id: ReplicaId): void;
  /** There is none of it now, and nothing of the run that it is in will come. */
  hasEnded(id: ReplicaId): boolean;
}

export function linearize(trace: RecordedTrace, visit: Visit): Linearized {
  const state = newSpecState(trace.members, trace.founding, trace.configurations);
  const heads = new Map<ReplicaId, number>(trace.members.map((id) => [id, 0]));
  const headOf = (id: ReplicaId): ConsensusEvent | undefined => trace.byReplica.get(id)?.[heads.get(id) ?? 0];
  const order = newOrder(
    state,
    {
      members: () => trace.members,
      headOf,
      pass: (id) => void heads.set(id, (heads.get(id) ?? 0) + 1),
      hasEnded: () => true,
    },
    visit,
  );
  for (const id of begunBefore(trace)) seed(state, headOf(id)!);
  while (order.takeNext('atOnce'));
  return { state, ...order.counts() };
}

export interface Order {
  /** `atOnce`: where no event can be taken, the earliest one is, as it is. @returns whether there was an event, or a step that was lost, to take */
  takeNext(unready: 'atOnce' | 'wait'): boolean;
  counts(): { readonly events: number; readonly lost: number; readonly steps: number };
}

export function newOrder(state: SpecState, source: EventSource, visit: Visit): Order {
  const headOf = (id: ReplicaId): ConsensusEvent | undefined => source.headOf(id);
  let steps = 0;
  let events = 0;
  let lost = 0;
  let lostInARow = 0;

  const take = (step: Step, event: ConsensusEvent | null): void => {
    const isUnheard = event?.name === 'Fsync' && headOf(event.replica)?.name === 'Crash';
    visit({ step, event, number: events, isUnheard }, steps, state);
    applyStep(state, step, steps);
    steps++;
    const replica = replicaOf(state, step.replica);
    const isTold = replica.role !== 'leader' || step.action === 'Retell';
    if (isTold || wasSent(state, tellingHeartbeat(replica))) return;
    take({ action: 'Retell', replica: step.replica }, null);
  };
  const takeLost = (found: readonly Step[]): void => {
    lost += found.length;
    lostInARow += found.length;
    for (const step of found) take(step, null);
  };
  const takeAllLost = (restart: ConsensusEvent): void => {
    const replica = replicaOf(state, restart.replica);
    const isExplained = (): boolean =>
      survivingRecords(state, replica, restart) !== null && replica.commitPoint >= restart.state.commitPoint;
    for (let tries = 0; tries < LOST_STEPS_MAX && !isExplained(); tries++) {
      const found = lostStepBefore(state, restart);
      if (found.length === 0) return;
      takeLost(found);
    }
  };
  const takeEvent = (event: ConsensusEvent): void => {
    const replica = replicaOf(state, event.replica);
    if (event.name === 'Restart' && replica.role !== 'down') takeAllLost(event);
    events++;
    const { before, own } = meaningOf(state, event);
    for (const step of before) take(step, null);
    take(own, event);
  };
  const isReady = (event: ConsensusEvent): boolean => {
    learnSettled(state, event);
    return (
      !isUntold(state, event) &&
      !namesUnknown(state, event) &&
      missingMessages(state, event).length === 0 &&
      !rejectIsEarly(state, event) &&
      handedOutEarly(state, event) === null
    );
  };
  /** Nothing of the run that it is in comes from this replica any more. */
  const hasDied = (id: ReplicaId): boolean => {
    const head = headOf(id);
    return head === undefined
      ? source.hasEnded(id)
      : head.name === 'Restart' && replicaOf(state, id).role !== 'down';
  };

  return {
    takeNext(unready) {
      const waiting = source
        .members()
        .flatMap((id) => headOf(id) ?? [])
        .sort((a, b) => a.atUs - b.atUs);
      const [earliest] = waiting;
      if (earliest === undefined) return false;
      let next = waiting.find(isReady);
      // A restart must not overtake those who still wait for what the process did before it died.
      const isStuck = next === undefined || (next.name === 'Restart' && next !== earliest);
      if (isStuck) {
        const found = waiting
          .filter((event) => !isReady(event))
          .flatMap((event) => lostStepsFor(state, event, hasDied))
          .slice(0, 1);
        // No number of steps leads to what an altered trace may ask for.
        if (found.length > 0 && lostInARow < LOST_STEPS_MAX) {
          takeLost(found);
          return true;
        }
        if (unready === 'wait') return false;
        next ??= earliest;
      }
      lostInARow = 0;
      const event = next ?? earliest;
      source.pass(event.replica);
      takeEvent(event);
      return true;
    },
    counts: () => ({ events, lost, steps }),
  };
}

/** The trace begins with a log that is not empty: taken for granted as it was recovered. */
export function seed(state: SpecState, event: ConsensusEvent): void {
  const replica = replicaOf(state, event.replica);
  const { promised, commitPoint } = event.state;
  replica.hasLog = true;
  replica.commitPoint = commitPoint;
  replica.base = Math.max(0, Math.min(commitPoint, ...(event.votes ?? []).map(([slot]) => slot - 1)));
  writeDurably(replica, { kind: 'promise', slot: 0, ballot: promised, label: '' }, state);
  for (const [slot, ballot, label] of event.votes ?? []) {
    writeDurably(replica, { kind: ballot === null ? 'chosen' : 'vote', slot, ballot, label }, state);
  }
  const chosen = (event.votes ?? []).filter(([slot]) => slot <= commitPoint);
  const known = configurationOf(state, knownVersion(event));
  replica.config = known;
  const told: SpecMessage[] = chosen.map(([slot, , label]) => ({ type: 'CatchUpReply', slot, label }));
  told.push({ type: 'Heartbeat', ballot: noBallot, commitPoint: known.slot, configuration: known });
  sendMessages(state, told, -1);
}
