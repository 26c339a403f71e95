/**
 * What the messages of protocols without a place in the peers' own frames are made of, as bytes and back.
 *
 *     A number: f64. A slot: a whole one. A ballot: round, and the replica's name. A name: u8 and UTF-8.
 *     An entry: 0 (a no-op), or 1, request: f64, client: u16 and UTF-8, payload: u32 and bytes. Numbers are little-endian.
 *
 * Invariant: what is read is well-formed and bounded, or nothing is. Payloads are views of the bytes, not copies.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LastVote } from '../../paxos/types/messages.ts';

export class FrameError extends Error {
  override readonly name = 'FrameError';
}

const nameBytesMax = 64;
const clientBytesMax = 256;
/** More than any catch-up holds. */
const entriesMax = 65_536;

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
    if (!Number.isSafeInteger(value) || value < 0) throw new FrameError('a number is not a whole one');
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
    if (slot < 1) throw new FrameError('slots begin with 1');
    return { slot, ballot: this.ballot() };
  }

  vote(): LastVote | null {
    const isThere = this.byte();
    if (isThere > 1) throw new FrameError('a vote that is neither there nor not');
    return isThere === 0 ? null : { ballot: this.ballot(), entry: this.entry() };
  }

  entries(): Entry[] {
    const count = this.whole();
    if (count > entriesMax) throw new FrameError(`more than ${entriesMax} entries`);
    const entries: Entry[] = [];
    for (let n = 0; n < count; n += 1) entries.push(this.entry());
    return entries;
  }

  entry(): Entry {
    const { group } = this;
    const kind = this.byte();
    if (kind === 0) return { kind: 'noop', group };
    if (kind !== 1) throw new FrameError('an entry of an unknown kind');
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
    if (length < 1 || length > bytesMax) throw new FrameError('a name that is too long, or empty');
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
    if (this.at !== this.bytes.length) throw new FrameError('followed by something');
  }
}
