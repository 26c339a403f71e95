/**
 * Runs one workload against a cluster: its clients, each on whatever replica it finds, and the history of all that they were told.
 *
 * Responsible for: reconnecting, telling outcomes truthfully, and pace. Judges nothing. Invariant: an operation is invoked only on an open connection, and
 * each has exactly one completion in the history; a client that does not know what became of an operation goes on as another process.
 */
import type { HistoryWriter, Operation } from '../checkers/history.ts';
import type { ReadMode, ReadTerms } from '../checkers/read-terms.ts';
import { mayRepeat } from './bank-workload.ts';
import { readInModes } from './mode-reader.ts';
import { Random } from './seeded-random.ts';
import { isCommitted } from './sql-outcome.ts';
import { SqlFailure, SqlSession } from './sql-session.ts';
import type { Workload, WorkRequest } from './workload.ts';

export interface RunOptions {
  readonly workload: Workload;
  readonly ports: readonly number[];
  readonly seed: number;
  readonly history: HistoryWriter;
  /** Microseconds since the beginning of the run. */
  readonly nowUs: () => number;
  /** Processes of this run are numbered from here. */
  readonly firstProcess: number;
  /** 2: twice as fast as the workload's own pace. */
  readonly pace?: number;
  /** One more client for each replica reads there in these modes, one after another; default: none. */
  readonly readModes?: readonly ReadMode[];
  /** How long a client waits to be let in; default: 2.5 s. */
  readonly connectMs?: number;
  /** Something was acknowledged; of readers in a mode nothing is told. */
  readonly onOk: (timeUs: number) => void;
  readonly onError?: (error: RunError) => void;
}

/** What a client was told, on the port that it was connected to or tried to connect to. */
export interface RunError {
  readonly timeUs: number;
  readonly port: number;
  readonly during: 'connect' | 'operation';
  readonly code: string;
  readonly message: string;
}

export interface WorkloadRun {
  /** No new operations; resolves when the last one has ended. */
  stop(): Promise<void>;
  /** The final reads, tried until they succeed. @throws SqlFailure after `withinMs` */
  final(withinMs: number): Promise<void>;
  /** SQLSTATEs and the like of all that was not ok, connections included. */
  readonly errors: ReadonlyMap<string, number>;
}

const defaultConnectMs = 2500;
const statementMs = 5000;
const repeatMsMax = 25_000;
const operationsPerConnection = 120;
/** Readers in a mode ask so much more seldom than other clients. */
const modeReaderPauses = 3;
/** So that a process number is never used again. */
const processStride = 1000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function startWorkload(options: RunOptions): WorkloadRun {
  const run = new Run(options);
  const { clients: anywhere, readersEverywhere } = options.workload;
  const readers = readersEverywhere ? options.ports.length : 0;
  const clients = Array.from({ length: anywhere + readers }, (_, index) => run.client(index));
  if ((options.readModes?.length ?? 0) > 0 && options.workload.hasReads)
    clients.push(...options.ports.map((_, replica) => run.modeReader(replica, anywhere + readers + replica)));
  return {
    errors: run.errors,
    stop: async () => {
      run.stopping = true;
      await Promise.all(clients);
    },
    final: (withinMs) => run.final(withinMs),
  };
}

class Run {
  readonly errors = new Map<string, number>();
  stopping = false;
  private readonly options: RunOptions;
  private readonly requests: Random;
  private nextProcess: number;
  private modeSessions = 0;

  constructor(options: RunOptions) {
    this.options = options;
    this.requests = new Random(options.seed);
    this.nextProcess = options.firstProcess + processStride;
  }

  async client(index: number): Promise<void> {
    const { workload, seed, firstProcess } = this.options;
    const random = new Random(seed * 31 + index);
    let process = firstProcess + index;
    let session: SqlSession | null = null;
    let left = 0;
    const isReader = index >= workload.clients;
    const ports = isReader
      ? [this.options.ports[(index - workload.clients) % this.options.ports.length]!]
      : this.options.ports;
    const pauseMs = workload.pauseMs / (this.options.pace ?? 1);
    while (!this.stopping) {
      if (session?.usable !== true || left <= 0) {
        session?.close();
        session = await this.connect(random, ports);
        left = operationsPerConnection * (0.5 + random.unit());
        if (session === null) continue;
      }
      left--;
      const type = await this.operate(
        session,
        process,
        workload.next(this.requests, isReader ? 'read' : 'any'),
        random,
      );
      if (type === 'info') process = this.nextProcess++;
      await sleep(random.exponential(pauseMs));
    }
    session?.close();
  }

  /** `replica`: counted from 0. */
  modeReader(replica: number, index: number): Promise<void> {
    const { workload, seed, firstProcess, ports, pace = 1, readModes = [] } = this.options;
    const { connectMs = defaultConnectMs } = this.options;
    const random = new Random(seed * 31 + index);
    const port = ports[replica]!;
    let process = firstProcess + index;
    return readInModes({
      port,
      replica: `r${replica + 1}`,
      modes: readModes,
      firstMode: seed + replica,
      random,
      pace,
      pauseMs: (workload.pauseMs * modeReaderPauses) / pace,
      connectMs,
      statementMs,
      isStopping: () => this.stopping,
      nextSession: () => ++this.modeSessions,
      onRefused: (failure) => {
        this.tell(port, 'connect', failure);
        this.note(`connect ${failure.code}`);
      },
      read: async (session, terms) => {
        const type = await this.operate(session, process, workload.next(random, 'read'), random, terms);
        if (type === 'info') process = this.nextProcess++;
      },
    });
  }

  private async connect(random: Random, ports = this.options.ports): Promise<SqlSession | null> {
    const port = random.pick(ports);
    try {
      const { connectMs = defaultConnectMs } = this.options;
      return await SqlSession.open({ port, connectMs, statementMs });
    } catch (error) {
      this.tell(port, 'connect', error as SqlFailure);
      this.note(`connect ${(error as SqlFailure).code}`);
      await sleep(100 + random.below(100));
      return null;
    }
  }

  private async operate(
    session: SqlSession,
    process: number,
    request: WorkRequest,
    random: Random,
    terms?: ReadTerms,
  ): Promise<Operation['type']> {
    const { history, nowUs, onOk } = this.options;
    const { f, asked } = request;
    const begun = { process, type: 'invoke' as const, f, value: asked, timeUs: nowUs() };
    history.write(terms === undefined ? begun : { ...begun, terms });
    try {
      const value = await this.runToEnd(session, request, random);
      const timeUs = nowUs();
      history.write({ process, type: 'ok', f, value, timeUs });
      // What a follower answers says nothing of whether the group serves.
      if (terms === undefined) onOk(timeUs);
      return 'ok';
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      this.note(error.code);
      const type = error.outcome;
      const text = error.message === error.code ? error.code : `${error.code} ${error.message}`;
      history.write({ process, type, f, value: asked, timeUs: nowUs(), error: text });
      return type;
    }
  }

  /** With a request id, again and again until the outcome is known. */
  private async runToEnd(session: SqlSession, request: WorkRequest, random: Random): Promise<unknown> {
    const { workload } = this.options;
    const untilMs = performance.now() + repeatMsMax;
    let current: SqlSession | null = session;
    let doubt: SqlFailure | null = null;
    for (;;) {
      try {
        if (current !== null) return await workload.run(current, request);
      } catch (error) {
        if (!(error instanceof SqlFailure)) throw error;
        if (current !== null) this.tell(current.port, 'operation', error);
        if (isCommitted(error) && workload.returnsNothing(request.f)) return request.asked;
        // What failed now says nothing of the earlier try.
        if (doubt === null && !mayRepeat(workload, request.f, error)) throw error;
        if (error.outcome === 'info') doubt = error;
        // The money may be gone because the earlier try moved it: that way nobody will ever know.
        else if (error.code === 'notEnough' && doubt !== null) throw doubt;
        this.note(`repeated ${error.code}`);
      } finally {
        if (current !== session) current?.close();
      }
      if (performance.now() > untilMs && doubt !== null) throw doubt;
      await sleep(100);
      current = await this.connect(random);
    }
  }

  async final(withinMs: number): Promise<void> {
    const { workload } = this.options;
    const untilMs = performance.now() + withinMs;
    const random = new Random(this.options.seed);
    for (const request of workload.finalRequests()) {
      for (let type: Operation['type'] | null = null; type !== 'ok'; ) {
        if (performance.now() > untilMs)
          throw new Error(`the final reads of ${workload.name} do not succeed`);
        const session = await this.connect(random);
        if (session === null) continue;
        type = await this.operate(session, this.nextProcess++, request, random);
        session.close();
      }
    }
  }

  private tell(port: number, during: RunError['during'], { code, message }: SqlFailure): void {
    this.options.onError?.({ timeUs: this.options.nowUs(), port, during, code, message });
  }

  private note(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
