/**
 * Checks what a cluster records while it runs: takes events as they come, puts them in order, cuts them, and has each segment judged as soon as it is cut.
 *
 * Responsible for: how long is waited for what, and what is kept. Events wait a moment, so that all that was recorded before them has been read; one that takes a message which nobody has told of sending waits longer, and
 * is judged as it is then. If there is more than can be judged, segments are left out, oldest first, and counted: those behind them begin where they ended, which is then taken for granted.
 * Events of the layer `apply` are not judged here.
 */
import type { CheckStatus } from '../../../server/src/api/check.ts';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { JudgeName } from '../judge/judges.ts';
import { explain } from '../trace/check-trace.ts';
import { malformed } from '../trace/event-form.ts';
import { newOrder, seed, type TracedStep } from '../trace/linearize.ts';
import type { ConsensusEvent } from '../trace/read-trace.ts';
import { runPieces } from '../trace/run-segments.ts';
import { cutAsTheyCome, type Segment } from '../trace/segments.ts';
import { addReplica, newSpecState, type SpecState } from '../trace/spec-state.ts';
import type { Piece } from '../trace/trace-module.ts';
import { newEventQueue } from './event-queue.ts';
import { forgetSettled } from './forget-settled.ts';

/** All that was recorded so long ago has been read. */
const SETTLED_MS = 1000;
/** What the first configuration is must have been told by then. */
const BEGINNING_MS = 3000;
/** So long after an event was read nobody will tell any more of having sent what it took: those that were read together wait together. */
const PATIENCE_MS = 10_000;
/** A segment that is not full is judged after so long. */
const SEGMENT_AGE_MS = 2000;
/** Cut and not judged. */
const STEPS_KEPT_MAX = 20_000;
const EVENTS_WAITING_MAX = 200_000;
/** Sent, and perhaps looked at later. */
const MESSAGES_MAX = 1_000_000;
/** Messages of settled slots are forgotten so long after they were sent: no link is slower. */
const FORGET_AFTER_MS = 300_000;

export interface LiveCheck {
  add(event: TraceEvent): void;
  setProcesses(word: ProcessesNow): void;
  /** Orders what has come, and judges one segment if there is one. @returns whether there is more to judge at once */
  work(nowUs: number): Promise<boolean>;
  report(nowUs: number): CheckStatus;
}

export interface ProcessesNow {
  /** They do not run, and all that they recorded is added. */
  readonly ended: ReadonlySet<ReplicaId>;
  readonly areSomeFrozen: boolean;
  /** When that was so. Who had ended then may have been started since. */
  readonly atUs: number;
}

interface Waiting {
  readonly piece: Piece;
  readonly events: number;
  readonly oldestAtUs: number;
}

export interface LiveOptions {
  /** Steps that are cut and not judged; more are left out. */
  readonly stepsKeptMax?: number;
  /** Nothing that was sent takes longer to come. */
  readonly forgetAfterMs?: number;
}

export function newLiveCheck(judge: JudgeName, options: LiveOptions = {}): LiveCheck {
  const { stepsKeptMax = STEPS_KEPT_MAX, forgetAfterMs = FORGET_AFTER_MS } = options;
  const queue = newEventQueue();
  const segments: Waiting[] = [];
  let state: SpecState | null = null;
  let processes: ProcessesNow = { ended: new Set(), areSomeFrozen: false, atUs: 0 };
  /** A process that was frozen then may have had something to tell. */
  let frozenUntilUs = 0;
  let refused: CheckStatus['refused'] = null;
  let ended: string | null = null;
  let checked = 0;
  let skipped = 0;
  let stepsKept = 0;
  let openEvents = 0;
  let openSinceUs: number | null = null;
  /** So many steps had been taken then. */
  let mark = { atUs: 0, steps: 0 };

  const refuse = (event: ConsensusEvent | null, action: string, reason: string): void => {
    if (refused !== null) return;
    const [name = '', , replica = ''] = action.split(' ');
    refused = {
      replica: event?.replica ?? replica,
      action: event?.name ?? name,
      reason,
      run: event?.run ?? '',
      seq: event?.seq ?? 0,
    };
  };
  const keep = (segment: Segment): void => {
    const events = segment.steps.filter(({ event }) => event !== null).length;
    const members = [...state!.replicas.keys()];
    const trace = { members, founding: founding(), configurations: queue.configurations };
    segments.push({ piece: { segment, trace }, events, oldestAtUs: openSinceUs ?? 0 });
    openEvents = 0;
    openSinceUs = null;
    stepsKept += segment.steps.length;
    while (stepsKept > stepsKeptMax && segments.length > 1) {
      const left = segments.shift()!;
      stepsKept -= left.piece.segment.steps.length;
      skipped += left.events;
    }
  };
  const founding = () => {
    const { chosen } = queue.configurations;
    const first = Math.min(...chosen.keys());
    const found = chosen.get(first);
    if (found === undefined) throw new Error('nobody tells in which configuration the trace begins');
    return found;
  };
  const cutter = cutAsTheyCome(keep);
  const visit = (step: TracedStep, index: number, current: SpecState): void => {
    cutter.visit(step, index, current);
    if (step.event === null) return;
    openEvents++;
    openSinceUs ??= step.event.atUs;
  };
  const begin = (): SpecState => newSpecState([], founding(), queue.configurations);
  let order: ReturnType<typeof newOrder> | null = null;

  /** A segment has the same replicas from its beginning to its end. */
  const admitNew = (current: SpecState): void => {
    const fresh = queue.waiting().filter((id) => !current.replicas.has(id));
    if (fresh.length === 0) return;
    cutter.close(current);
    if (openSinceUs !== null) return;
    for (const id of fresh) {
      addReplica(current, id, founding());
      queue.admit(id);
      const first = queue.headOf(id)!;
      if (first.state.promised.round > 0) seed(current, first);
    }
  };
  const takeAll = (nowUs: number): void => {
    const current = (state ??= begin());
    order ??= newOrder(current, queue, visit);
    for (;;) {
      admitNew(current);
      if (order.takeNext('wait')) continue;
      const oldest = queue.oldest();
      if (oldest === null) break;
      // Not since it was recorded: who was late to read it has only now begun to look for what it waits for.
      const sinceUs = Math.max(oldest.readAtUs, frozenUntilUs);
      if (nowUs - sinceUs < PATIENCE_MS * 1000 || !order.takeNext('atOnce')) break;
    }
    const { steps } = order.counts();
    if (openSinceUs !== null && nowUs - openSinceUs > SEGMENT_AGE_MS * 1000) cutter.close(current);
    if (nowUs - mark.atUs < forgetAfterMs * 1000) return;
    forgetSettled(current, mark.steps);
    mark = { atUs: nowUs, steps };
  };
  const judgeNext = async (): Promise<void> => {
    const next = segments.shift();
    if (next === undefined) return;
    const { piece, events } = next;
    stepsKept -= piece.segment.steps.length;
    const { matched } = await runPieces([piece], { judge });
    if (matched.has(0)) {
      checked += events;
      return;
    }
    const why = await explain(piece, judge);
    refuse(why.recorded, why.step, why.reason);
  };
  return {
    add(event) {
      if (ended !== null) return;
      try {
        queue.add(event);
      } catch (error) {
        ended = (error as Error).message;
      }
      const wrong = event.layer === 'consensus' ? malformed(event) : null;
      if (wrong !== null && event.layer === 'consensus') refuse(event, event.name, wrong);
    },
    setProcesses(word) {
      processes = word;
      queue.setEnded(word.ended);
    },
    async work(nowUs) {
      if (ended !== null) return false;
      queue.setRead(nowUs);
      if (processes.areSomeFrozen) frozenUntilUs = nowUs;
      const oldest = queue.oldest()?.atUs ?? null;
      if (state === null && (oldest === null || nowUs - oldest < BEGINNING_MS * 1000)) return false;
      try {
        const settledUs = nowUs - SETTLED_MS * 1000;
        // What an ended process is taken to have done unheard, it may have done after it was started again.
        queue.showUntil(processes.ended.size === 0 ? settledUs : Math.min(settledUs, processes.atUs));
        takeAll(nowUs);
        if (queue.size > EVENTS_WAITING_MAX)
          throw new Error(`more than ${EVENTS_WAITING_MAX} events wait for others`);
        if (state !== null && state.sent.size > MESSAGES_MAX)
          throw new Error(`more than ${MESSAGES_MAX} messages would have to be kept`);
        await judgeNext();
      } catch (error) {
        ended = (error as Error).message;
      }
      return segments.length > 0;
    },
    report(nowUs) {
      const behind = queue.size + openEvents + segments.reduce((sum, { events }) => sum + events, 0);
      const oldest = [segments[0]?.oldestAtUs, openSinceUs, queue.oldest()?.atUs].filter((at) => at != null);
      const behindMs =
        oldest.length === 0 ? 0 : Math.max(0, Math.round((nowUs - Math.min(...oldest)) / 1000));
      return { checked, behind, behindMs, skipped, refused, ended };
    },
  };
}
