/**
 * A workload whose losses show: every client inserts rows with ids of its own and remembers which ones it was told are in.
 *
 * Responsible for: load, and an exact record of what was acknowledged, refused or left in doubt. Judges through `verdict` only.
 */
import pg from 'pg';

export interface LedgerResult {
  /** Ids whose INSERT was acknowledged. */
  readonly acknowledged: ReadonlySet<number>;
  /** Ids whose INSERT certainly failed. */
  readonly refused: ReadonlySet<number>;
  /** Ids whose outcome the client was not told (08007, or the connection broke). */
  readonly doubtful: ReadonlySet<number>;
  /** When each acknowledgement came, milliseconds of `performance.now()`, ascending. */
  readonly acknowledgedAtMs: readonly number[];
  /** SQLSTATEs and other error codes seen, with their counts. */
  readonly errors: ReadonlyMap<string, number>;
}

export interface Ledger {
  /** So far. */
  acknowledged(): number;
  /** It grows. */
  soFar(): LedgerResult;
  stop(): Promise<LedgerResult>;
}

const ID_STRIDE = 1_000_000;
const SETUP = `DROP TABLE IF EXISTS ledger;
  CREATE TABLE ledger (id bigint PRIMARY KEY, worker int NOT NULL, at timestamptz DEFAULT now())`;

/** Connects to the given ports in turn, moving on whenever a connection fails. `pauseMs`: between two rows of one client. */
export async function startLedger(ports: readonly number[], workers: number, pauseMs = 0): Promise<Ledger> {
  const setup = await connect(ports[0]!);
  await setup.query(SETUP);
  await setup.end();
  const run = new LedgerRun(ports, pauseMs);
  const all = Array.from({ length: workers }, (_, worker) => run.work(worker));
  return {
    acknowledged: () => run.acknowledged.size,
    soFar: () => run,
    stop: async () => {
      run.stopping = true;
      await Promise.all(all);
      return run;
    },
  };
}

async function connect(port: number): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'barista',
    password: 'barista',
    database: 'barista',
    connectionTimeoutMillis: 8000,
    query_timeout: 20_000,
  });
  // A broken connection also fails the query that waits on it; that is where it is handled.
  client.on('error', () => {});
  await client.connect();
  return client;
}

class LedgerRun implements LedgerResult {
  readonly acknowledged = new Set<number>();
  readonly refused = new Set<number>();
  readonly doubtful = new Set<number>();
  readonly acknowledgedAtMs: number[] = [];
  readonly errors = new Map<string, number>();
  stopping = false;
  private readonly ports: readonly number[];
  private readonly pauseMs: number;

  constructor(ports: readonly number[], pauseMs: number) {
    this.ports = ports;
    this.pauseMs = pauseMs;
  }

  async work(worker: number): Promise<void> {
    let next = worker * ID_STRIDE + 1;
    for (let turn = worker; !this.stopping; turn++) {
      let client: pg.Client;
      try {
        client = await connect(this.ports[turn % this.ports.length]!);
      } catch (error) {
        this.note(error);
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      while (!this.stopping && (await this.insert(client, next++, worker)));
      await client.end().catch(() => {});
    }
  }

  /** False if the connection is of no more use. */
  private async insert(client: pg.Client, id: number, worker: number): Promise<boolean> {
    try {
      await client.query('INSERT INTO ledger (id, worker) VALUES ($1, $2)', [id, worker]);
      this.acknowledged.add(id);
      this.acknowledgedAtMs.push(performance.now());
      if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
      return true;
    } catch (error) {
      const code = this.note(error);
      // Class 40 and "not the leader any more" say that nothing happened; a lost connection says nothing at all.
      if (code.startsWith('40') || code.startsWith('53') || code === '57P01') this.refused.add(id);
      else this.doubtful.add(id);
      return false;
    }
  }

  private note(error: unknown): string {
    const code = (error as { code?: string }).code ?? (error as Error).message;
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    return code;
  }
}

/** What is wrong, given the ids that are in the table: acknowledged ones that are missing, refused ones that are there. */
export function verdict(result: LedgerResult, present: ReadonlySet<number>): string[] {
  const faults: string[] = [];
  for (const id of result.acknowledged)
    if (!present.has(id)) faults.push(`${id} was acknowledged and is missing`);
  for (const id of result.refused) if (present.has(id)) faults.push(`${id} was refused and is there`);
  for (const id of present) {
    if (!result.acknowledged.has(id) && !result.doubtful.has(id) && !result.refused.has(id)) {
      faults.push(`${id} was never sent`);
    }
  }
  return faults;
}

/** The longest time without an acknowledgement between two moments, in milliseconds. */
export function longestSilenceMs(acknowledgedAtMs: readonly number[], fromMs: number, toMs: number): number {
  const times = [fromMs, ...acknowledgedAtMs.filter((at) => at >= fromMs && at <= toMs), toMs];
  return times.slice(1).reduce((longest, at, index) => Math.max(longest, at - times[index]!), 0);
}
