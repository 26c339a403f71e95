/** Whoever wants to know what a walk over WAL comes by. Pure. */
import type { Lsn } from '../lsn.ts';
import type { WalFault } from './wal-fault.ts';

/** Told of each record that began where the walk has passed: `begin`, its bytes in order by `part` (header first), then `end` or `giveUp`. A record with a fault ends in neither. */
export interface RecordObserver {
  begin(start: Lsn, length: number): void;
  /** The bytes from `from` to before `to`: valid until it returns. */
  part(bytes: Uint8Array, from: number, to: number): void;
  /** `end` is aligned. Returns what is wrong with the record, if it looked. */
  end(end: Lsn): WalFault | null;
  /** It was never finished, and what follows says so. */
  giveUp(): void;
}
