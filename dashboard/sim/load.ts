/** Clients of a simulated group that is only to be looked at: they write and read, rest, and come again. */
import type { Random } from '../../server/src/ports/testing/random.ts';
import {
  MemoryClient,
  type Transaction,
  type TransactionEnd,
} from '../../server/src/replica/testing/memory-client.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { ClientSessions } from './sessions.ts';
import type { WrittenRow, WrittenRows } from './written-rows.ts';

/** People's own are others (src/views/sql/sql-examples.ts): these are dropped. */
export const tables = ['orders', 'payments', 'stock', 'visits'];
const drinks = ['espresso', 'cortado', 'flat white', 'filter', 'ristretto'];
/** Lists are copied whenever something is added to them: so long, and they are dropped and begun anew. */
const rowsMax = 400;
const restMsMax = 160;
export const readShare = 0.3;
const catalogueRows = 10;
const attemptsMax = 1_000;

export interface LoadOptions {
  readonly sessions: ClientSessions;
  readonly clients: number;
  readonly rows: WrittenRows;
}

export class Load {
  private readonly group: MemoryGroup;
  private readonly options: LoadOptions;
  private readonly client: MemoryClient;
  private readonly random: Random;
  /** In each table since it was dropped. */
  private readonly rowsIn = new Map<string, number>();

  constructor(group: MemoryGroup, options: LoadOptions) {
    this.group = group;
    this.options = options;
    this.client = new MemoryClient(group);
    this.random = group.random.fork();
  }

  /** What is in the database before anybody comes: so many pages. */
  async fill(pages: number): Promise<void> {
    for (let page = 0; page < pages; page += catalogueRows) {
      const writes = Array.from({ length: catalogueRows }, (_, n) => ({
        key: `catalogue_${page + n + 1}`,
        value: this.random.pick(drinks),
      }));
      await this.write(writes);
    }
  }

  /** Again while the group is broken. @throws Error if it stays so */
  private async write(writes: Transaction['writes']): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const end = await this.client.transact({ reads: [], writes });
      if (end.kind === 'done') return;
      await new Promise<void>((resolve) => this.group.time.after(restMsMax, resolve));
    }
    throw new Error('the catalogue could not be written');
  }

  begin(): void {
    for (let n = 0; n < this.options.clients; n++) void this.work(this.random.fork());
  }

  private async work(random: Random): Promise<never> {
    for (;;) {
      await new Promise<void>((resolve) => this.group.time.after(random.next() * restMsMax, resolve));
      const { rows } = this.options;
      if (random.chance(readShare)) await this.read(this.look(random));
      else {
        const row = rows.begins();
        rows.ends(row, await this.transact(this.change(random, row)));
      }
    }
  }

  /** `onServed` is told of the replica that serves it. */
  private transact(
    transaction: Transaction,
    onServed: (id: string) => void = () => undefined,
  ): Promise<TransactionEnd> {
    return this.client.transact(transaction, (session, member) => {
      this.options.sessions.note(member.postgres, session, transaction);
      onServed(member.id);
    });
  }

  private async read({ reads }: Transaction): Promise<void> {
    const { rows } = this.options;
    const judged = rows.beginsRead();
    let at: string | null = null;
    const end = await this.transact({ reads: [...reads, ...judged.keys], writes: [] }, (id) => {
      at = id;
    });
    rows.endsRead(judged, end, at);
  }

  private look(random: Random): Transaction {
    return { reads: [random.pick(tables)], writes: [] };
  }

  /** Locks are taken in one order by all, for nobody looks for deadlocks. */
  private change(random: Random, { writes }: WrittenRow): Transaction {
    const picked = tables.filter(() => random.chance(0.35));
    const written = picked.length === 0 ? [tables[0]!] : picked;
    const ordered = written.flatMap((key) => {
      const row = { key, value: random.pick(drinks) };
      return this.isFull(key) ? [{ key, value: null }, row] : [row];
    });
    return { reads: [], writes: [...ordered, ...writes] };
  }

  /** Of one that gets another row now. If it is not dropped after all, it will be when it is as long again. */
  private isFull(table: string): boolean {
    const rows = this.rowsIn.get(table) ?? 0;
    this.rowsIn.set(table, (rows % rowsMax) + 1);
    return rows === rowsMax;
  }
}
