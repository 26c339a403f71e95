/** Adds up what records do, transaction by transaction, subtransactions with the one that they belong to. Pure. */
import type { TransactionEndKind, WalTransaction } from '../../../api/wal-summary.ts';
import { readTransactionEnd, type TransactionEnd } from '../../../wal/record/transaction-end.ts';
import type { WalRecord } from '../../../wal/record/wal-record.ts';
import { ChangeTally } from './change-tally.ts';

interface Tally {
  readonly xid: number;
  readonly changes: ChangeTally;
  ends: TransactionEndKind | null;
  endsAtUs: number | null;
  name: string | null;
  records: number;
  bytes: number;
}

export class TransactionTallies {
  /** In the order of their first records. */
  private readonly byXid = new Map<number, Tally>();
  /** The top-level transaction of a subtransaction. */
  private readonly topOf = new Map<number, number>();

  /** Of a record that belongs to a transaction, or ends one. False: this one does neither. */
  add(record: WalRecord): boolean {
    const end = readTransactionEnd(record);
    const xid = end?.xid ?? record.xid;
    if (xid === 0) return false;
    if (record.topLevelXid !== null) this.join(record.xid, record.topLevelXid);
    const tally = this.of(this.topOf.get(xid) ?? xid);
    tally.records += 1;
    tally.bytes += record.length;
    tally.changes.add(record);
    if (end !== null) this.finish(tally, end);
    return true;
  }

  private finish(tally: Tally, { xid, kind, atUs, name, subtransactions }: TransactionEnd): void {
    for (const subtransaction of subtransactions) this.join(subtransaction, tally.xid);
    // A subtransaction that is rolled back ends alone; the rest of its transaction goes on.
    if (xid !== tally.xid) return;
    tally.name = name ?? tally.name;
    tally.ends = kind;
    tally.endsAtUs = atUs;
  }

  /** What was counted for it goes to the top-level transaction. */
  private join(subtransaction: number, top: number): void {
    this.topOf.set(subtransaction, top);
    const tally = this.byXid.get(subtransaction);
    if (tally === undefined) return;
    this.byXid.delete(subtransaction);
    const own = this.of(top);
    own.records += tally.records;
    own.bytes += tally.bytes;
    own.changes.merge(tally.changes);
  }

  private of(xid: number): Tally {
    const found = this.byXid.get(xid);
    if (found !== undefined) return found;
    const tally = {
      xid,
      changes: new ChangeTally(),
      ends: null,
      endsAtUs: null,
      name: null,
      records: 0,
      bytes: 0,
    };
    this.byXid.set(xid, tally);
    return tally;
  }

  get count(): number {
    return this.byXid.size;
  }

  /** At most so many, with at most so many changes each. */
  list(transactionsMax: number, changesMax: number): readonly WalTransaction[] {
    const kept = [...this.byXid.values()].slice(0, transactionsMax);
    return kept.map(({ xid, ends, endsAtUs, name, records, bytes, changes }) => {
      const all = changes.list();
      const shown = all.slice(0, changesMax);
      return {
        xid,
        ends,
        endsAtUs,
        name,
        records,
        bytes,
        changes: shown,
        changesMore: all.length - shown.length,
      };
    });
  }
}
