/**
 * A session's connection to PostgreSQL: sends flights of messages, and tells the answers apart.
 *
 * Responsible for: matching each answer to the message it answers; letting through only what answers the client's own
 * messages. Does not decide what is sent. Invariants: one flight at a time; PostgreSQL's answers are taken in order; nothing
 * that an injected statement answers reaches the client, but notifications and parameter changes always do.
 */
import type { Socket } from 'node:net';
import { commandTag, readErrorFields, readyStatus } from '../codec/backend-messages.ts';
import { createFrameSplitter, type FrameSink } from '../codec/frame-splitter.ts';
import { flush } from '../codec/frontend-messages.ts';
import { back } from '../codec/message-types.ts';
import { SessionEnded } from './session-ended.ts';
import type { FlightResult, Step, StepError } from './step.ts';

/** Whom the link reports to: the session. */
export interface BackendListener {
  /** A frame, or a piece of one, for the client. */
  readonly answer: (frame: Buffer, type: number, step: Step | null) => void;
  /** Comes at any time, for the client: a notice, a notification, a changed parameter. */
  readonly aside: (frame: Buffer, type: number, step: Step | null) => void;
  readonly error: (frame: Buffer, error: StepError) => void;
  /** All frames of one chunk have been handed over. */
  readonly chunkDone: () => void;
  readonly closed: (cause: Error | null) => void;
}

export interface Flight {
  readonly done: Promise<FlightResult>;
  /** Resolves if PostgreSQL asks for COPY data; never if the flight is over first. */
  readonly copyIn: Promise<'copyIn'>;
}

export interface BackendLink {
  /** Ends with the answer to a Sync or Query if the last step is one, else (a Flush is added) with the last step's answer. */
  send(steps: readonly Step[]): Flight;
  /** Raw bytes, such as COPY data. Resolves when there is room for more. */
  write(buffers: readonly Buffer[]): Promise<void> | null;
  /** The last thing to be said. */
  sendRaw(bytes: Buffer): void;
  pause(reason: PauseReason): void;
  resume(reason: PauseReason): void;
  /** Whatever it was stopped for: a chosen transaction must be committed, however slow its client. */
  resumeAll(): void;
  destroy(): void;
  readonly atBoundary: boolean;
}

/** `lease`: what was read may not leave yet. `client`: it reads too slowly. `parts`: agreement takes no more. */
export type PauseReason = 'lease' | 'client' | 'parts';

interface OpenFlight {
  readonly steps: readonly Step[];
  at: number;
  error: StepError | null;
  readonly endsReady: boolean;
  readonly resolve: (result: FlightResult) => void;
  readonly reject: (error: Error) => void;
  readonly copyStarted: () => void;
}

const completions: ReadonlyMap<number, Step['kind']> = new Map([
  [back.parseComplete, 'parse'],
  [back.bindComplete, 'bind'],
  [back.closeComplete, 'close'],
  [back.rowDescription, 'describe'],
  [back.noData, 'describe'],
  [back.commandComplete, 'execute'],
  [back.emptyQueryResponse, 'execute'],
  [back.portalSuspended, 'execute'],
]);

export const createBackendLink = (options: {
  readonly socket: Socket;
  readonly listener: BackendListener;
  readonly frameBytesMax: number;
  readonly streamedFrameBytesMax: number;
}): BackendLink => {
  const { socket, listener } = options;
  const paused = new Set<PauseReason>();
  let flight: OpenFlight | null = null;
  let gone = false;

  const currentStep = (): Step | null => flight?.steps[flight.at] ?? null;

  const splitter = createFrameSplitter({
    wholeBytesMax: options.frameBytesMax,
    streamedBytesMax: options.streamedFrameBytesMax,
    pieceBytesMin: 65_536,
    streams: (type) =>
      (type === back.dataRow || type === back.copyData) && currentStep()?.onRow === undefined,
  });

  const settle = (status: FlightResult['status']): void => {
    const over = flight;
    flight = null;
    over?.resolve({ status, error: over.error });
  };

  const completeStep = (open: OpenFlight, tag: string | null): void => {
    const step = open.steps[open.at] as Step;
    open.at += 1;
    step.onComplete?.(tag);
    if (open.at === open.steps.length && !open.endsReady) settle(null);
  };

  const onError = (frame: Buffer): void => {
    const step = currentStep();
    const fields = readErrorFields(frame);
    if (flight === null || step === null) {
      // Between statements PostgreSQL only says why it ends the connection.
      listener.answer(frame, back.errorResponse, null);
      return;
    }
    const error = { step, fields };
    flight.error ??= error;
    listener.error(frame, error);
    if (step.kind === 'query') return;
    // PostgreSQL skips everything up to the next Sync.
    const next = flight.steps.findIndex(
      (later, index) => index >= (flight?.at ?? 0) && later.kind === 'sync',
    );
    if (next >= 0) flight.at = next;
    else settle(null);
  };

  const onReady = (frame: Buffer): void => {
    const open = flight;
    if (open === null) return;
    const step = open.steps[open.at];
    if (step?.kind !== 'query' && step?.kind !== 'sync') return;
    open.at += 1;
    if (open.at === open.steps.length) settle(readyStatus(frame));
  };

  const onAnswer = (type: number, frame: Buffer): void => {
    const open = flight;
    const step = currentStep();
    if (open === null || step === null) {
      listener.answer(frame, type, null);
      return;
    }
    if (type === back.copyInResponse) open.copyStarted();
    if (type === back.dataRow && step.onRow !== undefined) step.onRow(frame);
    if (!step.own && !(step.dropNoData === true && type === back.noData)) listener.answer(frame, type, step);
    if (step.kind === 'query') {
      if (type === back.commandComplete) step.onComplete?.(commandTag(frame));
    } else if (completions.get(type) === step.kind) {
      completeStep(open, type === back.commandComplete ? commandTag(frame) : null);
    }
  };

  const sink: FrameSink = {
    frame(type, frame) {
      if (type === back.noticeResponse) onNotice(frame);
      else if (type === back.notificationResponse || type === back.parameterStatus) {
        listener.aside(frame, type, currentStep());
      } else if (type === back.errorResponse) onError(frame);
      else if (type === back.readyForQuery) onReady(frame);
      else onAnswer(type, frame);
    },
    piece(type, piece) {
      const step = currentStep();
      if (step === null || !step.own) listener.answer(piece, type, step);
    },
  };

  const onNotice = (frame: Buffer): void => {
    const step = currentStep();
    if (step !== null && step.own && step.speaks !== true) return;
    if (step?.dropNotice !== undefined && readErrorFields(frame).get('C') === step.dropNotice) return;
    listener.aside(frame, back.noticeResponse, step);
  };

  const onClose = (cause: Error | null): void => {
    if (gone) return;
    gone = true;
    listener.closed(cause);
    flight?.reject(new SessionEnded());
    flight = null;
  };

  socket.on('data', (chunk: Buffer) => {
    if (gone) return;
    try {
      splitter.push(chunk, sink);
      listener.chunkDone();
    } catch (error) {
      onClose(error instanceof Error ? error : new Error(String(error)));
      socket.destroy();
    }
  });
  socket.on('error', (error) => onClose(error));
  socket.on('close', () => onClose(null));

  return {
    send(steps) {
      if (gone) {
        const done = Promise.reject(new SessionEnded());
        done.catch(() => {});
        return { done, copyIn: new Promise(() => {}) };
      }
      if (flight !== null) throw new Error('a flight is under way already');
      const last = steps.at(-1)?.kind;
      const endsReady = last === 'sync' || last === 'query';
      let copyStarted = (): void => {};
      const copyIn = new Promise<'copyIn'>((resolve) => {
        copyStarted = () => resolve('copyIn');
      });
      const done = new Promise<FlightResult>((resolve, reject) => {
        flight = { steps, at: 0, error: null, endsReady, resolve, reject, copyStarted };
      });
      const buffers = steps.map((step) => step.bytes);
      if (!endsReady) buffers.push(flush);
      writeAll(socket, buffers);
      return { done, copyIn };
    },
    write(buffers) {
      if (gone) throw new SessionEnded();
      if (writeAll(socket, buffers)) return null;
      return new Promise((resolve) => {
        socket.once('drain', resolve);
        socket.once('close', resolve);
      });
    },
    sendRaw(bytes) {
      if (!gone) socket.write(bytes);
    },
    pause(reason) {
      paused.add(reason);
      socket.pause();
    },
    resume(reason) {
      paused.delete(reason);
      if (paused.size === 0) socket.resume();
    },
    resumeAll() {
      paused.clear();
      socket.resume();
    },
    destroy() {
      gone = true;
      socket.destroySoon();
      flight?.reject(new SessionEnded());
      flight = null;
    },
    get atBoundary() {
      return splitter.atBoundary;
    },
  };
};

const joinBytesMax = 16_384;

/** One system call: small buffers joined, large ones left alone. */
export const writeAll = (socket: Socket, buffers: readonly Buffer[]): boolean => {
  if (buffers.length === 1) return socket.write(buffers[0] as Buffer);
  let total = 0;
  for (const buffer of buffers) total += buffer.length;
  if (total <= joinBytesMax) return socket.write(Buffer.concat(buffers, total));
  socket.cork();
  let room = true;
  for (const buffer of buffers) room = socket.write(buffer);
  socket.uncork();
  return room;
};
