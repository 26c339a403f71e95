/**
 * Lets TLC judge the events of ordered apply in a recorded trace against specs/TraceOrderedApply.tla, which says what each step means.
 *
 * Responsible for: the steps. A slot is chosen from the first consensus event on that shows it; events of one replica keep their
 * order; a process that was killed is taken to have lost its database's running state before its next run begins.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import { linearize } from './linearize.ts';
import { orderTrace, type ConsensusEvent } from './read-trace.ts';
import { type SpecState } from './spec-state.ts';

type ApplyEvent =
  | Extract<TraceEvent, { layer: 'apply' }>
  /** Tells that a database is lost, if its phase is `copying`. */
  | Extract<TraceEvent, { name: 'RecoveryPhase' }>;

const MODULE = 'ApplyTraceRun';
/** The module keeps every slot of the run in its state, so its time grows with the square of them. */
const SLOTS_MAX = 5000;
const TIMEOUT_MS = 600_000;

export interface ApplyStep {
  /** Null: a slot became known as chosen, or a killed process's database is down. */
  readonly event: ApplyEvent | null;
  readonly literal: string;
}

export interface ApplySteps {
  readonly steps: readonly ApplyStep[];
  readonly events: number;
  /** Apply events that the trace has in all; more than `events` if it was too long. */
  readonly all: number;
}

export type ApplyOutcome =
  | {
      readonly kind: 'accepted';
      readonly events: number;
      readonly all: number;
      readonly actions: ReadonlyMap<string, number>;
    }
  | {
      readonly kind: 'rejected';
      readonly event: number;
      readonly recorded: ApplyEvent | null;
      readonly literal: string;
    };

/** Turns apply events into steps, each behind the consensus event that it follows in its own run. */
export function applySteps(events: readonly TraceEvent[]): ApplySteps {
  const pending = applyEventsByRun(events);
  const steps: ApplyStep[] = [];
  const earlierRuns = new Map<string, string[]>();
  let chosenTo = 0;
  let all = 0;
  let previous: ConsensusEvent | null = null;

  const put = (event: ApplyEvent | null, literal: string): void => {
    if (chosenTo <= SLOTS_MAX) steps.push({ event, literal });
  };
  const choose = (state: SpecState): void => {
    for (const { commitPoint, log, base } of state.replicas.values()) {
      for (; chosenTo < commitPoint; chosenTo++) {
        const slot = chosenTo + 1;
        const label = slot <= base ? `before the trace/${slot}` : log.get(slot)?.label;
        if (label === undefined) break;
        put(null, `[a|->"Choose",s|->${slot},l|->${quoted(label)}]`);
      }
    }
  };
  const pointers = new Map<string, number>();
  const above = new Map<string, Set<number>>();
  const take = (event: ApplyEvent): void => {
    all++;
    const own = above.get(event.run) ?? new Set();
    const pointer = pointers.get(event.run) ?? 0;
    const moved = event.name === 'ApplyBatch' ? pointerOver(own, pointer, event.fromSlot - 1) : null;
    if (moved !== null) put(null, `[a|->"MovePointer",r|->${quoted(event.replica)},to|->${moved}]`);
    put(event, applyLiteral(event));
    pointers.set(event.run, pointerAfter(event) ?? pointer);
    if (event.name === 'RecoveryPhase') above.delete(event.run);
    if (event.name === 'CommitChosen') above.set(event.run, own.add(event.slot));
    if (event.name === 'DatabaseUp') above.set(event.run, new Set(event.above));
  };
  /** Those of the run that come before event `seq`. */
  const drain = (run: string, seq: number): void => {
    const waiting = pending.get(run) ?? [];
    while (waiting[0] !== undefined && waiting[0].seq < seq) {
      const event = waiting.shift() as ApplyEvent;
      for (const overtaken of overtakenBy(event, waiting, pointers.get(run) ?? 0)) take(overtaken);
      take(event);
    }
  };
  const { state } = linearize(orderTrace(events), ({ event }, _, current) => {
    choose(current);
    if (event === null || event === previous) return;
    if (event.name === 'Restart') {
      const earlier = earlierRuns.get(event.replica) ?? [];
      for (const run of earlier) drain(run, Number.POSITIVE_INFINITY);
      if (earlier.length > 0) put(null, `[a|->"DatabaseDown",r|->${quoted(event.replica)}]`);
      earlierRuns.set(event.replica, [...earlier, event.run]);
    }
    drain(event.run, event.seq);
    previous = event;
  });
  choose(state);
  for (const run of pending.keys()) drain(run, Number.POSITIVE_INFINITY);
  return { steps, events: steps.filter(({ event }) => event !== null).length, all };
}

function pointerAfter(event: ApplyEvent): number | null {
  if (event.name === 'RecoveryPhase') return 0;
  if (event.name === 'ApplyBatch') return event.toSlot;
  return event.name === 'MovePointer' || event.name === 'DatabaseUp' ? event.applicationPointer : null;
}

/** A batch begins behind what is in already: the pointer moves over that first, without an event of its own. */
function pointerOver(above: ReadonlySet<number>, pointer: number, to: number): number | null {
  for (let slot = pointer + 1; slot <= to; slot++) if (!above.has(slot)) return null;
  return to > pointer ? to : null;
}

/**
 * A flush goes by another connection than the batches. When it found the pointer at a slot, the batch that moved it there had been
 * committed, even if the event of the batch was recorded later: those batches are taken out of `waiting` and come first.
 */
function overtakenBy(event: ApplyEvent, waiting: ApplyEvent[], pointer: number): ApplyEvent[] {
  if (event.name !== 'FlushDatabase' || event.durableApplicationPointer <= pointer) return [];
  const to = event.durableApplicationPointer;
  const last = waiting.findIndex(
    (next) => next.name === 'DatabaseDown' || next.name === 'DatabaseUp' || (pointerAfter(next) ?? 0) >= to,
  );
  const mover = waiting[last];
  if (mover === undefined || mover.name === 'DatabaseDown' || mover.name === 'DatabaseUp') return [];
  return waiting.splice(0, last + 1);
}

function applyEventsByRun(events: readonly TraceEvent[]): Map<string, ApplyEvent[]> {
  const byRun = new Map<string, ApplyEvent[]>();
  for (const event of events) {
    const isLoss = event.name === 'RecoveryPhase' && event.progress?.phase === 'copying';
    if (event.layer !== 'apply' && !isLoss) continue;
    const own = byRun.get(event.run);
    if (own === undefined) byRun.set(event.run, [event]);
    else own.push(event);
  }
  for (const own of byRun.values()) own.sort((a, b) => a.seq - b.seq);
  return byRun;
}

const quoted = (text: string): string => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`;
const sequence = (items: readonly string[]): string => `<<${items.join(',')}>>`;

function applyLiteral(event: ApplyEvent): string {
  const start = `a|->"${event.name}",r|->${quoted(event.replica)}`;
  switch (event.name) {
    case 'Harvest':
    case 'AbortTransaction':
      return `[${start},l|->${quoted(event.label)}]`;
    case 'CommitChosen':
      return `[${start},s|->${event.slot},l|->${quoted(event.label)}]`;
    case 'MovePointer':
      return `[${start},to|->${event.applicationPointer}]`;
    case 'ApplyBatch': {
      const applied = event.applied.map(([slot, label]) => `<<${slot},${quoted(label)}>>`);
      return `[${start},from|->${event.fromSlot},to|->${event.toSlot},applied|->${sequence(applied)}]`;
    }
    case 'FlushDatabase':
      return `[${start},to|->${event.durableApplicationPointer}]`;
    case 'RecoveryPhase':
      return `[a|->"DatabaseLost",r|->${quoted(event.replica)}]`;
    case 'DatabaseDown':
      return `[${start}]`;
    case 'DatabaseUp': {
      const above = sequence(event.above.map(String));
      return `[${start},to|->${event.applicationPointer},above|->${above},prepared|-><<>>]`;
    }
    default:
      return event satisfies never;
  }
}

/** @throws Error if TLC fails; null if the trace has no apply events */
export async function checkApplyTrace(events: readonly TraceEvent[]): Promise<ApplyOutcome | null> {
  if (!events.some((event) => event.layer === 'apply')) return null;
  const { steps, events: checked, all } = applySteps(events);
  const reached = await runSteps(steps);
  if (reached <= steps.length) {
    const failed = steps[reached - 1] as ApplyStep;
    const event = steps.slice(0, reached).filter((step) => step.event !== null).length;
    return { kind: 'rejected', event, recorded: failed.event, literal: failed.literal };
  }
  const actions = new Map<string, number>();
  for (const { event } of steps)
    if (event !== null) actions.set(event.name, (actions.get(event.name) ?? 0) + 1);
  return { kind: 'accepted', events: checked, all, actions };
}

/** The step that could not be taken, from 1; one more than there are if all could. */
async function runSteps(steps: readonly ApplyStep[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-apply-trace-'));
  try {
    await copyFile(join(SPECS_DIR, 'TraceOrderedApply.tla'), join(directory, 'TraceOrderedApply.tla'));
    const literals = steps.map(({ literal }) => literal).join(',\n');
    await writeFile(
      join(directory, `${MODULE}.tla`),
      `---- MODULE ${MODULE} ----\nEXTENDS TraceOrderedApply\nRuns == <<<<\n${literals}\n>>>>\nRunInit == TraceInit(Runs)\n` +
        `RunNext == TraceNext(Runs)\nRunSpec == RunInit /\\ [][RunNext]_traceVars\nRunView == <<run, at>>\nReached == EachStep\n====\n`,
    );
    await writeFile(
      join(directory, `${MODULE}.cfg`),
      'SPECIFICATION RunSpec\nVIEW RunView\nINVARIANT Reached\nCHECK_DEADLOCK FALSE\n',
    );
    const { exitCode, output } = await runTlc({
      module: MODULE,
      cfg: `${MODULE}.cfg`,
      args: ['-workers', '1', '-lncheck', 'final'],
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    if (exitCode !== 0) throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    return Math.max(
      0,
      ...[...output.matchAll(/<<"reached", \d+, (\d+)>>/g)].map((match) => Number(match[1])),
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
