/**
 * Messages of a primary and its copies as the bytes that a `Carried` message brings, and back; and what a primary tells of answers.
 *
 * Responsible for: the form, and the check of every field, so that the core only ever sees well-formed messages. Does not judge what they mean. Payloads are views of the bytes, not copies.
 *
 *     form: u8, kind: u8, epoch (round: f64, replica: name), and by kind: slots (f64 each), epochs, entries, flags (u8)
 *     An entry: 1 and an epoch, where a primary begins; or 0 and an entry as all have it (frames.ts). Numbers are little-endian.
 */
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { Message, SentEntry } from '../../primary/types/messages.ts';
import { FrameError, Reader, Writer } from './frames.ts';

/** To its copies: which operations of its epoch have been acknowledged, and which it gave up. */
export interface Told {
  readonly kind: 'Told';
  readonly group: GroupId;
  readonly epoch: Ballot;
  readonly acknowledged: readonly Slot[];
  readonly unacknowledged: readonly Slot[];
}

export type PrimaryMessage = Message | Told;

const form = 1;
const kinds = [
  'AskWord',
  'Word',
  'Refuse',
  'Operations',
  'Received',
  'Told',
] as const satisfies readonly PrimaryMessage['kind'][];
const listMax = 65_536;

export function encodePrimary(message: PrimaryMessage): Uint8Array {
  const out = new PrimaryWriter();
  out.byte(form);
  out.byte(kinds.indexOf(message.kind));
  out.ballot(message.epoch);
  switch (message.kind) {
    case 'AskWord':
      out.epoch(message.lastEpoch);
      out.number(message.lastSlot);
      break;
    case 'Word':
      break;
    case 'Refuse':
      out.epoch(message.promised);
      out.flag(message.hasMore);
      break;
    case 'Operations':
      out.number(message.prevSlot);
      out.epoch(message.prevEpoch);
      out.number(message.beginsAt);
      out.number(message.settled);
      out.flag(message.isStandby);
      out.double(message.sentAtMs);
      out.number(message.entries.length);
      for (const { epoch, entry } of message.entries) {
        out.epoch(epoch);
        out.anyEntry(entry);
      }
      break;
    case 'Received':
      out.number(message.received);
      out.number(message.executed);
      out.flag(message.goOnFrom !== null);
      out.number(message.goOnFrom ?? 0);
      out.flag(message.needsCopy);
      out.double(message.sentAtMs);
      break;
    case 'Told':
      out.slots(message.acknowledged);
      out.slots(message.unacknowledged);
      break;
    default:
      message satisfies never;
  }
  return out.done();
}

/** @throws FrameError if the bytes are no well-formed message */
export function decodePrimary(bytes: Uint8Array, group: GroupId): PrimaryMessage {
  const from = new PrimaryReader(bytes, group);
  try {
    const message = read(from, group);
    from.end();
    return message;
  } catch (error) {
    if (error instanceof RangeError) throw new FrameError('cut short', { cause: error });
    throw error;
  }
}

function read(from: PrimaryReader, group: GroupId): PrimaryMessage {
  if (from.byte() !== form) throw new FrameError('of an unknown form');
  const kind = kinds[from.byte()];
  if (kind === undefined) throw new FrameError('of an unknown kind');
  const base = { group, epoch: from.ballot() };
  switch (kind) {
    case 'AskWord':
      return { kind, ...base, lastEpoch: from.epoch(), lastSlot: from.slot() };
    case 'Word':
      return { kind, ...base };
    case 'Refuse':
      return { kind, ...base, promised: from.epoch(), hasMore: from.flag() };
    case 'Operations':
      return {
        kind,
        ...base,
        prevSlot: from.slot(),
        prevEpoch: from.epoch(),
        beginsAt: from.slot(),
        settled: from.slot(),
        isStandby: from.flag(),
        sentAtMs: from.double(),
        entries: from.sent(),
      };
    case 'Received': {
      const [received, executed] = [from.slot(), from.slot()];
      const [goesBack, slot] = [from.flag(), from.slot()];
      const goOnFrom = goesBack ? slot : null;
      return {
        kind,
        ...base,
        received,
        executed,
        goOnFrom,
        needsCopy: from.flag(),
        sentAtMs: from.double(),
      };
    }
    case 'Told':
      return { kind, ...base, acknowledged: from.slots(), unacknowledged: from.slots() };
    default:
      return kind satisfies never;
  }
}

class PrimaryWriter extends Writer {
  flag(value: boolean): void {
    this.byte(value ? 1 : 0);
  }

  double(value: number): void {
    this.number(value);
  }

  /** Of what may be nothing yet. */
  epoch(epoch: Ballot): void {
    this.flag(epoch.round > 0);
    if (epoch.round > 0) this.ballot(epoch);
  }

  slots(slots: readonly Slot[]): void {
    this.number(slots.length);
    for (const slot of slots) this.number(slot);
  }

  anyEntry(entry: Entry): void {
    this.flag(entry.kind === 'leaderStart');
    if (entry.kind === 'leaderStart') this.ballot(entry.ballot);
    else this.entry(entry);
  }
}

class PrimaryReader extends Reader {
  private readonly of: GroupId;

  constructor(bytes: Uint8Array, group: GroupId) {
    super(bytes, group);
    this.of = group;
  }

  flag(): boolean {
    const value = this.byte();
    if (value > 1) throw new FrameError('a flag that is neither up nor down');
    return value === 1;
  }

  /** A clock: it may have fractions. */
  double(): number {
    const value = this.number();
    if (!Number.isFinite(value)) throw new FrameError('a clock that is none');
    return value;
  }

  epoch(): Ballot {
    return this.flag() ? this.ballot() : ballotNone;
  }

  private count(): number {
    const count = this.slot();
    if (count > listMax) throw new FrameError(`more than ${listMax} of something`);
    return count;
  }

  slots(): Slot[] {
    const slots: Slot[] = [];
    for (let left = this.count(); left > 0; left -= 1) slots.push(this.slot());
    return slots;
  }

  sent(): SentEntry[] {
    const sent: SentEntry[] = [];
    for (let left = this.count(); left > 0; left -= 1) sent.push({ epoch: this.epoch(), entry: this.any() });
    return sent;
  }

  private any(): Entry {
    return this.flag() ? { kind: 'leaderStart', group: this.of, ballot: this.ballot() } : this.entry();
  }
}
