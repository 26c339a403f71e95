/**
 * Messages of single-decree Paxos as the bytes that a `Carried` message brings, and back.
 *
 * Responsible for: the form, and the check of every field, so that the core only ever sees well-formed messages. Does not judge what they mean. Payloads are views of the bytes, not copies.
 *
 *     form: u8, kind: u8, done: f64, and by kind: slots (f64 each), ballots (round: f64, replica: name), entries
 *     An entry: 0 (a no-op), or 1, request: f64, client: u16 and UTF-8, payload: u32 and bytes. A name: u8 and UTF-8. Numbers are little-endian.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LastVote, PaxosMessage } from '../../paxos/types/messages.ts';

export class PaxosFrameError extends Error {
  override readonly name = 'PaxosFrameError';
}

const form = 1;
const kinds = [
  'SlotPrepare',
  'SlotPromise',
  'SlotAccept',
  'SlotAccepted',
  'SlotReject',
  'Learn',
  'LearnRequest',
  'LearnReply',
  'Status',
] as const satisfies readonly PaxosMessage['kind'][];
const nameBytesMax = 64;
const clientBytesMax = 256;
/** More than any catch-up holds. */
const entriesMax = 65_536;

export function encodePaxos(message: PaxosMessage): Uint8Array {
  const out = new Writer();
  out.byte(form);
  out.byte(kinds.indexOf(message.kind));
  out.number(message.done);
  if ('slot' in message) {
    out.number(message.slot);
    out.ballot(message.ballot);
  }
  switch (message.kind) {
    case 'SlotPromise':
      out.byte(message.vote === null ? 0 : 1);
      if (message.vote !== null) {
        out.ballot(message.vote.ballot);
        out.entry(message.vote.entry);
      }
      break;
    case 'SlotAccept':
      out.entry(message.entry);
      break;
    case 'SlotReject':
      out.ballot(message.promised);
      break;
    case 'LearnRequest':
      out.number(message.fromSlot);
      out.number(message.toSlot);
      break;
    case 'LearnReply':
      out.number(message.firstSlot);
      out.number(message.purgedTo);
      out.number(message.entries.length);
      for (const entry of message.entries) out.entry(entry);
      break;
    case 'Status':
      out.number(message.commitPoint);
      break;
    case 'SlotPrepare':
    case 'SlotAccepted':
    case 'Learn':
      break;
    default:
      message satisfies never;
  }
  return out.done();
}

/** @throws PaxosFrameError if the bytes are no well-formed message */
export function decodePaxos(bytes: Uint8Array, group: GroupId): PaxosMessage {
  const from = new Reader(bytes, group);
  try {
    const message = read(from, group);
    from.end();
    return message;
  } catch (error) {
    if (error instanceof RangeError) throw new PaxosFrameError('cut short', { cause: error });
    throw error;
  }
}

function read(from: Reader, group: GroupId): PaxosMessage {
  if (from.byte() !== form) throw new PaxosFrameError('of an unknown form');
  const kind = kinds[from.byte()];
  const base = { group, done: from.slot() };
  switch (kind) {
    case 'SlotPrepare':
    case 'SlotAccepted':
    case 'Learn':
      return { kind, ...base, ...from.place() };
    case 'SlotPromise':
      return { kind, ...base, ...from.place(), vote: from.vote() };
    case 'SlotAccept':
      return { kind, ...base, ...from.place(), entry: from.entry() };
    case 'SlotReject':
      return { kind, ...base, ...from.place(), promised: from.ballot() };
    case 'LearnRequest':
      return { kind, ...base, fromSlot: from.slot(), toSlot: from.slot() };
    case 'LearnReply':
      return { kind, ...base, firstSlot: from.slot(), purgedTo: from.slot(), entries: from.entries() };
    case 'Status':
      return { kind, ...base, commitPoint: from.slot() };
    case undefined:
      throw new PaxosFrameError('of an unknown kind');
    default:
      return kind satisfies never;
  }
}

/** Also of the other protocols' codecs. */
export class Writer {
  private readonly parts: Buffer[] = [];

  byte(value: number): void {
    this.parts.push(Buffer.from([value]));
  }

  number(value: number): void {
    const part = Buffer.alloc(8);
    part.writeDoubleLE(value);
    this.parts.push(part);
  }

  ballot({ round, replica }: Ballot): void {
    this.number(round);
    const name = Buffer.from(replica);
    this.byte(name.length);
    this.parts.push(name);
  }

  entry(entry: Entry): void {
    if (entry.kind === 'noop') return this.byte(0);
    if (entry.kind !== 'command')
      throw new Error(`an entry of kind ${entry.kind} has no place in this protocol`);
    this.byte(1);
    this.number(entry.proposal.request);
    const client = Buffer.from(entry.proposal.client);
    const lengths = Buffer.alloc(6);
    lengths.writeUInt16LE(client.length, 0);
    lengths.writeUInt32LE(entry.payload.length, 2);
    const { buffer, byteOffset, byteLength } = entry.payload;
    this.parts.push(lengths, client, Buffer.from(buffer, byteOffset, byteLength));
  }

  done(): Uint8Array {
    return Buffer.concat(this.parts);
  }
}

export class Reader {
  private readonly bytes: Buffer;
  private readonly group: GroupId;
  private at = 0;

  constructor(bytes: Uint8Array, group: GroupId) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.group = group;
  }

  byte(): number {
    return this.bytes.readUInt8(this.forward(1));
  }

  number(): number {
    return this.bytes.readDoubleLE(this.forward(8));
  }

  private whole(): number {
    const value = this.number();
    if (!Number.isSafeInteger(value) || value < 0) throw new PaxosFrameError('a number is not a whole one');
    return value;
  }

  slot(): Slot {
    return this.whole() as Slot;
  }

  ballot(): Ballot {
    const round = this.whole();
    return { round, replica: this.text(this.byte(), nameBytesMax) as ReplicaId };
  }

  place(): { readonly slot: Slot; readonly ballot: Ballot } {
    const slot = this.slot();
    if (slot < 1) throw new PaxosFrameError('slots begin with 1');
    return { slot, ballot: this.ballot() };
  }

  vote(): LastVote | null {
    const isThere = this.byte();
    if (isThere > 1) throw new PaxosFrameError('a vote that is neither there nor not');
    return isThere === 0 ? null : { ballot: this.ballot(), entry: this.entry() };
  }

  entries(): Entry[] {
    const count = this.whole();
    if (count > entriesMax) throw new PaxosFrameError(`more than ${entriesMax} entries`);
    const entries: Entry[] = [];
    for (let n = 0; n < count; n += 1) entries.push(this.entry());
    return entries;
  }

  entry(): Entry {
    const { group } = this;
    const kind = this.byte();
    if (kind === 0) return { kind: 'noop', group };
    if (kind !== 1) throw new PaxosFrameError('an entry of an unknown kind');
    const request = this.whole();
    const clientBytes = this.bytes.readUInt16LE(this.forward(2));
    const payloadBytes = this.bytes.readUInt32LE(this.forward(4));
    const client = this.text(clientBytes, clientBytesMax);
    const from = this.forward(payloadBytes);
    return {
      kind: 'command',
      group,
      proposal: { client, request },
      payload: this.bytes.subarray(from, this.at),
    };
  }

  private text(length: number, bytesMax: number): string {
    if (length < 1 || length > bytesMax) throw new PaxosFrameError('a name that is too long, or empty');
    const from = this.forward(length);
    return this.bytes.toString('utf8', from, this.at);
  }

  /** @throws RangeError beyond the end */
  private forward(count: number): number {
    const from = this.at;
    if (from + count > this.bytes.length) throw new RangeError('beyond the end');
    this.at += count;
    return from;
  }

  end(): void {
    if (this.at !== this.bytes.length) throw new PaxosFrameError('followed by something');
  }
}
