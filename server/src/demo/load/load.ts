/**
 * The load that the demo runs by itself: clients that write rows and remember what they were told, and a look at each replica now and then, whether it has what it must have.
 *
 * Responsible for: the table, how many clients there are and how fast they are, and the looks. What is lost is conscience.ts's to say. Invariants: the table keeps a bounded number of rows; while it is off no session of it is open.
 */
import type { Client } from 'pg';
import type { LoadSettings, LoadStatus } from '../../api/load.ts';
import type { ReplicaPlan } from '../layout.ts';
import { endSession, sessionAt } from '../sql-session.ts';
import { Conscience } from './conscience.ts';
import { LoadClient, sleep } from './load-client.ts';

export interface LoadOptions {
  readonly plans: readonly ReplicaPlan[];
  /** With WAL a replica's own database is read by a session that says so; where statements travel each replica answers itself. */
  readonly payload: 'wal' | 'statements';
  readonly settings: LoadSettings;
}

const lookEveryMs = 2_000;
const lookMs = 5_000;
const againMs = 500;
const setUp = `CREATE SCHEMA IF NOT EXISTS lab;
  CREATE TABLE IF NOT EXISTS lab.load (id bigint PRIMARY KEY, client int NOT NULL)`;

/** What runs while the load is on, each by itself: a client, by its number, or one of these. */
type Part = number | 'preparation' | 'looks';

export class DemoLoad {
  private readonly options: LoadOptions;
  private settings: LoadSettings;
  private conscience: Conscience | null = null;
  /** Each until it has ended: one that hangs at a replica holds up no other. */
  private readonly parts = new Map<Part, Promise<void>>();
  /** Nobody watches: it rests, whatever is set. */
  private isHeld = true;
  /** Rows at or below are deleted. */
  private tidied = 0;

  constructor(options: LoadOptions) {
    this.options = options;
    this.settings = options.settings;
  }

  set(settings: LoadSettings): void {
    this.settings = settings;
    this.look();
  }

  /** While nobody watches it rests. */
  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.look();
  }

  status(): LoadStatus {
    const conscience = this.conscience ?? new Conscience();
    const ids = this.options.plans.map(({ id }) => id);
    return {
      settings: this.settings,
      counts: conscience.counts(),
      ...conscience.lost(),
      replicas: conscience.atReplicas(ids, performance.now()),
    };
  }

  async stop(): Promise<void> {
    this.set({ ...this.settings, isRunning: false });
    await Promise.all(this.parts.values());
  }

  private get isOn(): boolean {
    return this.settings.isRunning && !this.isHeld;
  }

  /** Whatever is to run, and does not, begins; what is not to run any more ends by itself. */
  private look(): void {
    const { conscience } = this;
    if (!this.isOn) return;
    if (conscience === null) {
      this.begin('preparation', () => this.prepare());
      return;
    }
    this.begin('looks', () => this.looks(conscience));
    const { clients } = this.settings;
    for (let number = 0; number < clients; number += 1)
      this.begin(number, () => this.client(number, conscience).run());
  }

  private begin(part: Part, work: () => Promise<void>): void {
    if (this.parts.has(part)) return;
    const ended = work().finally(() => {
      this.parts.delete(part);
      this.look();
    });
    this.parts.set(part, ended);
  }

  private client(number: number, conscience: Conscience): LoadClient {
    return new LoadClient({
      number,
      ports: this.options.plans.map(({ pgwirePort }) => pgwirePort),
      conscience,
      pauseMs: () => {
        const { clients, perSecond } = this.settings;
        return this.isOn && number < clients ? (1000 * clients) / perSecond : null;
      },
      readShare: () => this.settings.readShare,
    });
  }

  /** The table is there, and what earlier loads have left in it is not judged. Without a conscience if it was turned off meanwhile. */
  private async prepare(): Promise<void> {
    for (let turn = 0; this.isOn; turn += 1) {
      const { plans } = this.options;
      const found = await this.asked(plans[turn % plans.length]!, '', async (client) => {
        await client.query(setUp);
        const { rows } = await client.query<{ last: string | null }>('SELECT max(id) AS last FROM lab.load');
        return Number(rows[0]?.last ?? 0);
      }).catch(() => null);
      if (found !== null) {
        this.conscience = new Conscience(found);
        return;
      }
      await sleep(againMs);
    }
  }

  private async looks(conscience: Conscience): Promise<void> {
    while (this.isOn) {
      for (const plan of this.options.plans) if (this.isOn) await this.lookAt(plan, conscience);
      if (this.isOn) await this.tidy(conscience);
      for (let ms = 0; ms < lookEveryMs && this.isOn; ms += againMs) await sleep(againMs);
    }
  }

  /** Everything that was acknowledged by now must be there. */
  private async lookAt(plan: ReplicaPlan, conscience: Conscience): Promise<void> {
    const look = conscience.look();
    const own = this.options.payload === 'wal' ? '-c barista.read_consistency=linearizable' : '';
    try {
      const present = await this.asked(plan, own, async (client) => {
        const { rows } = await client.query<{ id: string }>('SELECT id FROM lab.load WHERE id > $1', [
          look.floor,
        ]);
        return new Set(rows.map(({ id }) => Number(id)));
      });
      conscience.judge(plan.id, look, present, performance.now());
    } catch (error) {
      conscience.failed(plan.id, (error as Error).message);
    }
  }

  /** What is judged no more goes. */
  private async tidy(conscience: Conscience): Promise<void> {
    const { floor } = conscience;
    if (floor === this.tidied) return;
    for (const plan of this.options.plans) {
      const isDone = await this.asked(plan, '', (client) =>
        client.query('DELETE FROM lab.load WHERE id <= $1', [floor]),
      ).catch(() => null);
      if (isDone === null) continue;
      this.tidied = floor;
      return;
    }
  }

  /** In a session of its own at that replica, within `lookMs`. */
  private async asked<T>(
    { pgwirePort }: ReplicaPlan,
    options: string,
    work: (client: Client) => Promise<T>,
  ): Promise<T> {
    const client = sessionAt(pgwirePort, {
      options,
      application_name: 'barista conscience',
      connectionTimeoutMillis: lookMs,
      query_timeout: lookMs,
    });
    try {
      await client.connect();
      return await work(client);
    } finally {
      endSession(client);
    }
  }
}
