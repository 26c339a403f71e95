/**
 * One client of the demo's load: writes and reads as an application does, and connects to the next replica when its connection is gone.
 *
 * Responsible for: its connection, its pace, and what each answer means. Invariant: a write of which the server did not say that it did not take effect counts as unknown.
 */
import type { Client } from 'pg';
import { endSession, sessionAt } from '../sql-session.ts';
import type { Conscience } from './conscience.ts';
import { isOfStatement, writeOutcomeOf } from './write-outcome.ts';

export interface LoadClientOptions {
  readonly number: number;
  readonly ports: readonly number[];
  readonly conscience: Conscience;
  /** Until its next request; null: it is to end. Asked again and again. */
  readonly pauseMs: () => number | null;
  /** The share of reads, 0 to 1. */
  readonly readShare: () => number;
}

const connectMs = 5_000;
const answerMs = 10_000;
/** Behind a connection that failed. */
const againMs = 200;

export class LoadClient {
  private readonly options: LoadClientOptions;
  private client: Client | null = null;
  private turn: number;
  /** The last write that it knows to be there. */
  private last: number | null = null;

  constructor(options: LoadClientOptions) {
    this.options = options;
    this.turn = options.number;
  }

  /** Until it is to end. Never rejects. */
  async run(): Promise<void> {
    for (let pauseMs = this.options.pauseMs(); pauseMs !== null; pauseMs = this.options.pauseMs()) {
      const sinceMs = performance.now();
      const isWell = await this.request();
      const leftMs = pauseMs - (performance.now() - sinceMs);
      await sleep(isWell ? Math.max(0, leftMs) : againMs);
    }
    this.disconnect();
  }

  /** False: the connection is of no more use. */
  private async request(): Promise<boolean> {
    const isRead = this.last !== null && Math.random() < this.options.readShare();
    const client = await this.connected();
    if (client === null) {
      if (isRead) this.options.conscience.read('refused');
      return false;
    }
    const isWell = isRead ? await this.read(client, this.last!) : await this.write(client);
    if (!isWell) this.disconnect();
    return isWell;
  }

  private async write(client: Client): Promise<boolean> {
    const { conscience, number } = this.options;
    const id = conscience.begins();
    try {
      await client.query('INSERT INTO lab.load (id, client) VALUES ($1, $2)', [id, number]);
      conscience.ends(id, 'acknowledged');
      this.last = id;
      return true;
    } catch (error) {
      const code = codeOf(error);
      const outcome = writeOutcomeOf(code);
      conscience.ends(id, outcome);
      if (outcome === 'acknowledged') this.last = id;
      return isOfStatement(code);
    }
  }

  /** What it was told to be written. */
  private async read(client: Client, id: number): Promise<boolean> {
    const { conscience } = this.options;
    const isJudged = id > conscience.floor;
    try {
      const { rowCount } = await client.query('SELECT FROM lab.load WHERE id = $1', [id]);
      conscience.read(rowCount === 0 && isJudged ? { missing: id } : 'answered');
      return true;
    } catch (error) {
      conscience.read('refused');
      return isOfStatement(codeOf(error));
    }
  }

  private async connected(): Promise<Client | null> {
    if (this.client !== null) return this.client;
    const { ports } = this.options;
    this.turn += 1;
    const client = sessionAt(ports[this.turn % ports.length]!, {
      application_name: 'barista load',
      connectionTimeoutMillis: connectMs,
      query_timeout: answerMs,
    });
    try {
      await client.connect();
      this.client = client;
      return client;
    } catch {
      endSession(client);
      return null;
    }
  }

  private disconnect(): void {
    if (this.client !== null) endSession(this.client);
    this.client = null;
  }
}

/** Empty: it has none. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
