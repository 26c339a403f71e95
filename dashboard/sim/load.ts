/** Clients of a simulated group that is only to be looked at: they write and read, rest, and come again. */
import type { Random } from '../../server/src/ports/testing/random.ts';
import {
  MemoryClient,
  type Transaction,
  type TransactionEnd,
  type Write,
} from '../../server/src/replica/testing/memory-client.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { ClientSessions } from './sessions.ts';
import type { WrittenRows } from './written-rows.ts';

const tables = ['orders', 'payments', 'stock', 'visits'];
const drinks = ['espresso', 'cortado', 'flat white', 'filter', 'ristretto'];
/** Lists are copied whenever something is added to them: so long, and another one is begun. */
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
  private written = 0;

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
        const { id, write } = rows.begins();
        rows.ends(id, await this.transact(this.change(random, write)));
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

  private change(random: Random, row: Write): Transaction {
    this.written += 1;
    const number = Math.floor(this.written / (rowsMax * tables.length));
    const written = tables.filter(() => random.chance(0.35));
    return {
      reads: [],
      writes: [
        ...(written.length === 0 ? [tables[0]!] : written).map((table) => ({
          key: number === 0 ? table : `${table}_${number}`,
          value: random.pick(drinks),
        })),
        row,
      ],
    };
  }
}
