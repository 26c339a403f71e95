/**
 * The run of a simulated group: the simulator in its Worker, its messages made into a source.
 *
 * Responsible for: who waits for which answer, what of the run can be told to others (seed and acts), and the run's clock between two messages. Knows no Worker but a port to one.
 * Invariant: a run that the simulator has given up is told no more.
 */
import type { SqlError, SqlResult } from '../../../server/src/api/sql.ts';
import type { SlotAnswer } from '../../../server/src/api/wal-summary.ts';
import type { VerifyResult } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { Ask, FromSimulator, Pace, ToSimulator } from './simulated/protocol.ts';
import type { RunSetup } from './simulated/run-address.ts';
import type { Deed } from './simulated/acts.ts';
import type { ApiError, FaultOutcome, RunRequests } from './requests.ts';
import type { RunSource, SourceListener, WorldPace } from './source.ts';

export interface SimulatorPort {
  post(message: ToSimulator): void;
  listen(listener: (message: FromSimulator) => void): void;
  end(): void;
}

export interface SimulatedSource extends RunSource {
  /** With all that was done to it until now. */
  readonly setup: () => RunSetup;
  /** While it is made again: where it is, and where it will stand. */
  readonly underWay: () => { readonly atMs: number; readonly toMs: number } | null;
  /** Why the world goes on no more; null: it does. */
  readonly failure: () => string | null;
  /** What must not be, and that it has failed; null: nothing was found. */
  readonly trouble: () => string | null;
  /** Not before that moment of the world: so the same can befall two worlds at the same time. */
  readonly actAt: (deed: Deed, notBeforeMs: number) => Promise<FaultOutcome>;
  /** One of these is another one. Calling what it returns ends it. */
  onChange(listener: () => void): () => void;
}

/** Between two messages of frames of a world that goes on. */
const aheadMsMax = 100;

export function simulatedSource(
  port: SimulatorPort,
  first: RunSetup,
  atMs: number | null = null,
): SimulatedSource {
  const answered = new Map<number, (answer: object) => void>();
  const changed = new Set<() => void>();
  const paceChanged = new Set<() => void>();
  let listener: SourceListener | null = null;
  let setup = first;
  let pace: Pace = { mode: 'standing' };
  let asked = 0;
  let clock = { atMs: 0, wallMs: 0 };
  let trouble: string | null = null;
  let failure: string | null = null;

  const tell = (listeners: ReadonlySet<() => void>): void => listeners.forEach((one) => one());
  const setClock = (ms: number): void => {
    clock = { atMs: ms, wallMs: performance.now() };
  };
  const hear = (message: FromSimulator): void => {
    switch (message.kind) {
      case 'begun':
        setup = message.setup;
        trouble = null;
        failure = null;
        setClock(0);
        listener?.onBegun();
        listener?.onConnection({ kind: 'open' });
        tell(changed);
        return;
      case 'frames':
        setClock(message.atMs);
        listener?.onFrames(message.frames, message.atMs);
        port.post({ kind: 'taken' });
        if (underWay() !== null) tell(changed);
        return;
      case 'pace':
        pace = message.pace;
        setClock(message.atMs);
        tell(paceChanged);
        tell(changed);
        return;
      case 'acts':
        setup = { ...setup, acts: message.acts };
        tell(changed);
        return;
      case 'answer':
        answered.get(message.id)?.(message.answer);
        answered.delete(message.id);
        return;
      case 'failed':
        failure = message.text;
        pace = { mode: 'standing' };
        setClock(clock.atMs);
        dismiss('failed', message.text);
        tell(paceChanged);
        tell(changed);
        return;
      case 'trouble':
        trouble = message.text;
        tell(changed);
        return;
      default:
        message satisfies never;
    }
  };
  const dismiss = (code: string, text: string): void => {
    for (const answer of answered.values()) answer({ error: { code, message: text } });
    answered.clear();
  };
  const ask = (question: Ask): Promise<object> =>
    new Promise((resolve) => {
      // Whoever cannot answer is asked nothing but to begin anew.
      if (failure !== null && question.kind !== 'fork') {
        resolve({ error: { code: 'failed', message: failure } });
        return;
      }
      asked += 1;
      answered.set(asked, resolve);
      port.post({ kind: 'ask', id: asked, ask: question });
    });
  const underWay = (): { readonly atMs: number; readonly toMs: number } | null =>
    pace.mode === 'running' && Number.isFinite(pace.toMs) ? { atMs: clock.atMs, toMs: pace.toMs } : null;
  const setPace = (next: Pace): void => port.post({ kind: 'pace', pace: next });

  return {
    kind: 'simulated',
    title: `seed ${first.seed}`,
    subscribe(next) {
      listener = next;
      port.listen(hear);
      port.post({ kind: 'begin', setup: first, atMs });
      return () => {
        listener = null;
        port.end();
        dismiss('gone', 'The run was left.');
      };
    },
    nowMs() {
      if (pace.mode !== 'running' || pace.speed === Number.POSITIVE_INFINITY) return clock.atMs;
      return clock.atMs + Math.min(aheadMsMax, (performance.now() - clock.wallMs) * pace.speed);
    },
    requests: requestsBy(ask),
    world: {
      pace: (): WorldPace =>
        pace.mode === 'running' ? { mode: 'running', speed: pace.speed } : { mode: 'standing' },
      subscribe(one) {
        paceChanged.add(one);
        return () => paceChanged.delete(one);
      },
      pause: () => setPace({ mode: 'standing' }),
      run: (speed) => setPace({ mode: 'running', speed, toMs: Number.POSITIVE_INFINITY }),
      step: async () => void (await ask({ kind: 'step' })),
      fork: async (ms) => void (await ask({ kind: 'fork', atMs: ms })),
    },
    retryNow: () => undefined,
    setup: () => setup,
    underWay,
    failure: () => failure,
    trouble: () => failure ?? trouble,
    async actAt(deed, notBeforeMs) {
      const answer = await ask({ kind: 'act', deed, notBeforeMs });
      return 'error' in answer ? { ok: false, error: answer.error as ApiError } : { ok: true };
    },
    onChange(one) {
      changed.add(one);
      return () => changed.delete(one);
    },
  };
}

type Asked<T> = { readonly ok: true; readonly answer: T } | { readonly ok: false; readonly error: SqlError };

function requestsBy(ask: (question: Ask) => Promise<object>): RunRequests {
  /** The simulator is of the same build: its answers are not looked into. */
  const asking = async <T>(question: Ask): Promise<Asked<T>> => {
    const answer = await ask(question);
    return 'error' in answer
      ? { ok: false, error: answer.error as ApiError }
      : { ok: true, answer: answer as T };
  };
  return {
    async fault(deed, signal) {
      if (signal?.aborted === true)
        return { ok: false, error: { code: 'gone', message: 'It was given up.' } };
      const outcome = await asking({ kind: 'act', deed });
      return outcome.ok ? { ok: true } : outcome;
    },
    async sql(replica, sql) {
      const outcome = await asking<SqlResult>({
        kind: 'act',
        deed: { action: 'sql', replica: replica as ReplicaId, sql },
      });
      return outcome.ok ? { ok: true, result: outcome.answer } : outcome;
    },
    slot: (slot) => asking<SlotAnswer>({ kind: 'slot', slot }),
    async verify(repair) {
      const outcome = await asking<VerifyResult>({ kind: 'act', deed: { action: 'verify', repair } });
      return outcome.ok ? { ok: true, result: outcome.answer } : outcome;
    },
  };
}
