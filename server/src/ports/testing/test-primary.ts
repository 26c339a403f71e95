/** A primary of the contract's tests: its WAL is received, and chosen when the test says so, or at once. */
import type { Lsn } from '../../wal/lsn.ts';
import type { PrimaryDatabase, WalStream, WalStreamHandlers } from '../database-server.ts';
import { never, type DatabaseFixture, TestLog, type TestSession, until } from './database-fixture.ts';

export class TestPrimary {
  readonly fixture: DatabaseFixture;
  readonly log: TestLog;
  readonly primary: PrimaryDatabase;
  stream!: WalStream;
  /** What was received is chosen and reported at once. */
  choosesAll = false;
  heard = 0;
  readonly ended: string[] = [];
  private received: Buffer[] = [];

  constructor(fixture: DatabaseFixture, log: TestLog, primary: PrimaryDatabase) {
    this.fixture = fixture;
    this.log = log;
    this.primary = primary;
  }

  async open(from: Lsn = this.log.position.end): Promise<void> {
    this.stream = await this.openStream(from, {
      onWal: (_start, pieces) => {
        this.received.push(...pieces.map((piece) => Buffer.from(piece)));
        if (this.choosesAll) this.choose();
      },
      onHeard: () => {
        this.heard += 1;
      },
      onEnd: (reason) => this.ended.push(reason),
    });
  }

  /** The walsender of a stream that was closed goes a moment later: this one waits for that. @throws Error with PostgreSQL's reason */
  async openStream(from: Lsn, handlers: WalStreamHandlers): Promise<WalStream> {
    const opened: WalStream[] = [];
    await until(this.fixture.timers, async () => {
      try {
        opened.push(await this.primary.openStream(from, handlers));
      } catch (error) {
        if (!(error instanceof Error) || !/slot .* is active/.test(error.message)) throw error;
      }
      return opened.length > 0;
    });
    return opened[0]!;
  }

  /** The end of what was received. */
  get receivedTo(): Lsn {
    return this.received.reduce((end, piece) => end + piece.length, this.log.position.end as number) as Lsn;
  }

  /** All that was received, and reports it. Returns where it ends. */
  choose(): Lsn {
    this.chooseSilently();
    const { end } = this.log.position;
    this.stream.report(end);
    return end;
  }

  /** The primary is not told. */
  chooseSilently(): void {
    if (this.received.length === 0) return;
    this.log.add(this.received);
    this.received = [];
  }

  chooseAlways(): void {
    this.choosesAll = true;
    this.choose();
  }

  /** What was received beyond it is lost. */
  keepUpTo(end: Lsn): void {
    const bytes = Buffer.concat(this.received);
    this.received = [bytes.subarray(0, end - this.log.position.end)];
  }

  /** What was received and not chosen is lost with its leader. */
  forget(): void {
    this.received = [];
  }

  /** Everything that is visible is chosen, if what is received is. */
  async passBarrier(): Promise<void> {
    const position = await this.primary.barrier();
    await until(this.fixture.timers, () => this.log.position.end >= position);
  }

  async connect(): Promise<TestSession> {
    return this.fixture.connect();
  }

  /** All that is flushed was received. */
  async untilReceived(): Promise<void> {
    const flushed = await this.primary.flushed();
    await until(this.fixture.timers, () => this.receivedTo >= flushed);
  }
}

/** A new database with its table, stopped; everything up to `end` is in it. */
export interface Foundation {
  readonly end: Lsn;
  readonly system: bigint;
  readonly nextXid: bigint;
}

export async function foundDatabase(fixture: DatabaseFixture): Promise<Foundation> {
  const { server, directory } = fixture;
  await directory.create(never);
  const primary = await server.startPrimary(never);
  await fixture.makeTable();
  const [flushed, nextXid] = [await primary.flushed(), await primary.nextXid()];
  await server.stop('fast');
  const end = await directory.endOfWal(primary.timeline, flushed);
  return { end, system: primary.system, nextXid };
}

/** The log in which the first leadership has begun: what copies of its directory have is chosen. */
export function logOf({ end, system, nextXid }: Foundation): TestLog {
  const log = new TestLog();
  log.lead(end, { system, nextXid });
  return log;
}

/** It goes on with the newest timeline of the log. */
export async function resumePrimary(fixture: DatabaseFixture, log: TestLog): Promise<TestPrimary> {
  const running = new TestPrimary(fixture, log, await fixture.server.startPrimary(never));
  await running.open();
  return running;
}
