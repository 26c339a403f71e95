/** The model of PostgreSQL for the contract of the database ports. Its time goes on by itself, as fast as it can. */
import type { DatabaseFixture, TestSession } from '../../../ports/testing/database-fixture.ts';
import { Random } from '../../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import type { ModelClient } from './model-client.ts';
import { ModelDirectory } from './model-directory.ts';
import { ModelPostgres } from './model-postgres.ts';
import { ModelServer } from './model-server.ts';
import type { Request } from './model-session.ts';

const prefix = 'value ';

export class ModelWorld {
  readonly time = new SimulatedTime();
  readonly troubles: string[] = [];
  private readonly random: Random;
  private isOver = false;
  private numbers = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    void this.goOn();
  }

  private async goOn(): Promise<void> {
    while (!this.isOver) await this.time.pass(1);
  }

  fixture(): ModelFixture {
    return new ModelFixture(this, this.random.fork());
  }

  /** Numbers that sort as texts. */
  nextNumber(): string {
    this.numbers += 1;
    return String(this.numbers).padStart(9, '0');
  }

  end(): void {
    this.isOver = true;
  }
}

export class ModelFixture implements DatabaseFixture {
  readonly server: ModelServer;
  readonly directory: ModelDirectory;
  readonly timers: ProcessTime;
  readonly postgres: ModelPostgres;
  private readonly world: ModelWorld;

  constructor(world: ModelWorld, random: Random) {
    this.world = world;
    this.timers = new ProcessTime(world.time);
    this.postgres = new ModelPostgres({
      time: world.time,
      random,
      onTrouble: (what) => world.troubles.push(what),
    });
    this.server = new ModelServer(this.postgres, this.timers);
    this.directory = new ModelDirectory(this.postgres.disk, this.timers, random);
  }

  async makeTable(): Promise<void> {
    // A key needs none.
  }

  async connect(): Promise<TestSession> {
    return this.postgres.run?.primary === null
      ? this.readerOfStandby()
      : this.sessionOf(await this.server.connect());
  }

  private readonly values = async (): Promise<readonly string[]> => {
    const keys = this.postgres.run?.buffers.keys().filter((key) => key.startsWith(prefix)) ?? [];
    return (await this.server.read(keys)).flat();
  };

  private readerOfStandby(): TestSession {
    const refuse = (): Promise<never> => Promise.reject(new Error('cannot write in a read-only transaction'));
    const commands = { put: refuse, xid: refuse, commit: refuse, rollback: refuse, distrust: refuse };
    const { values } = this;
    return { ...commands, prepare: refuse, commitPrepared: refuse, pid: 0, values, close: () => undefined };
  }

  private sessionOf(client: ModelClient): TestSession {
    const ask = async (request: Request): Promise<void> => {
      const answer = await client.ask(request);
      if (answer.kind === 'error') throw new Error(answer.message);
    };
    return {
      pid: client.pid,
      // A key for each, in the order of putting, so that nobody waits for another's.
      put: (value) => ask({ kind: 'append', key: `${prefix}${this.world.nextNumber()}`, value }),
      xid: () => Promise.resolve(client.xid ?? 0n),
      commit: () => ask({ kind: 'commit' }),
      rollback: () => ask({ kind: 'rollback' }),
      prepare: (name) => ask({ kind: 'prepare', name }),
      commitPrepared: (name) => ask({ kind: 'commitPrepared', name }),
      distrust: () => ask({ kind: 'mode', mode: 'local' }),
      values: this.values,
      close: () => client.close(),
    };
  }

  async waiting(): Promise<readonly number[]> {
    const sessions = this.postgres.run?.primary?.sessions.values() ?? [];
    return [...sessions].filter(({ isWaiting }) => isWaiting).map(({ pid }) => pid);
  }

  async cancel(pid: number): Promise<void> {
    this.postgres.run?.primary?.sessions.get(pid)?.cancel();
  }

  async terminate(pid: number): Promise<void> {
    this.postgres.run?.primary?.sessions.get(pid)?.terminate(true);
  }

  killMain(): void {
    this.postgres.killMain();
  }

  stand(): void {
    this.postgres.stand('stopped');
  }

  goOn(): void {
    this.postgres.goOn();
  }

  readonly raiseXid = async (xid: bigint): Promise<void> => {
    const { disk } = this.postgres;
    disk.control = { ...disk.control!, redo: { ...disk.control!.redo, nextXid: xid } };
  };

  /** The model writes no such record. */
  readonly switchSegment = null;

  async beginPromotion(
    timeline: Parameters<DatabaseFixture['beginPromotion']>[0],
    history: string,
  ): Promise<void> {
    this.postgres.disk.wal.histories.set(timeline, history);
  }

  async clone(): Promise<ModelFixture> {
    const copy = this.world.fixture();
    this.postgres.disk.copyTo(copy.postgres.disk);
    return copy;
  }

  async dispose(): Promise<void> {
    this.postgres.die(null);
    this.timers.die();
  }
}
