/**
 * Whom the frames of a connection come from and go to.
 *
 * A text of the connection is an envelope, and holds for all binary frames after it until the next one: it is written when it changes
 * and not with every frame, so that a message for all peers is encoded once and never copied.
 * Responsible for: the text, its checks, and writing it only when it changes. Opens no socket.
 * Invariant: a frame that is handed on has an envelope whose `from` is an incarnation of the replica that proved itself.
 */
import type { WebSocket } from 'ws';
import { memberName, incarnationOf, replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { FrameError, nameCharsMax } from './fields.ts';

export interface Envelope {
  readonly from: ReplicaId;
  /** Null: for whichever incarnation is there. Control messages only. */
  readonly to: ReplicaId | null;
}

const envelopeCharsMax = 512;

/** Sends frames over one open socket, each under its envelope. */
export function envelopeWriter(socket: WebSocket): (envelope: Envelope, frame: Uint8Array) => void {
  let last: Envelope | null = null;
  return (envelope, frame) => {
    if (last === null || last.from !== envelope.from || last.to !== envelope.to) {
      socket.send(JSON.stringify({ from: envelope.from, to: envelope.to }));
      last = envelope;
    }
    socket.send(frame, { binary: true });
  };
}

export interface EnvelopeReader {
  /** @throws FrameError if it is no envelope, or not one of the replica that proved itself */
  text(text: string): void;
  /** That of the frame that came. @throws FrameError if none came before it */
  current(): Envelope;
}

export function envelopeReader(peer: ReplicaId): EnvelopeReader {
  let envelope: Envelope | null = null;
  return {
    text(text) {
      const read = readEnvelope(text);
      if (!isIncarnationOf(read.from, peer))
        throw new FrameError(`"${read.from}" is no incarnation of ${peer}`);
      envelope = read;
    },
    current() {
      if (envelope === null) throw new FrameError('a frame without an envelope');
      return envelope;
    },
  };
}

/** Whether `name` is how an incarnation of `replica` is spelt. */
export function isIncarnationOf(name: ReplicaId, replica: ReplicaId): boolean {
  if (replicaOf(name) !== replica) return false;
  const incarnation = incarnationOf(name);
  return Number.isSafeInteger(incarnation) && incarnation >= 0 && memberName(replica, incarnation) === name;
}

function readEnvelope(text: string): Envelope {
  let value: unknown = null;
  try {
    if (text.length <= envelopeCharsMax) value = JSON.parse(text);
  } catch {
    // Not JSON: refused below.
  }
  const { from, to } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (!isName(from) || !(to === null || isName(to))) throw new FrameError('not an envelope');
  return { from: from as ReplicaId, to: to as ReplicaId | null };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= nameCharsMax;
}
