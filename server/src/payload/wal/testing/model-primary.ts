/**
 * A modelled PostgreSQL that is a primary: its sessions, the gate at which their commits wait, its checkpoints, and the senders of its WAL.
 *
 * Invariants: a transaction is seen by others when its wait has ended, and not before; the gate knows of no standby until one reports.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/testing/random.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { ModelBuffers } from './model-buffers.ts';
import type { ModelDisk } from './model-disk.ts';
import { ModelLocks } from './model-locks.ts';
import { ModelSession } from './model-session.ts';
import type { ModelStream } from './model-stream.ts';
import { type Retention, vacuumAt, walFrom } from './model-vacuum.ts';
import type { ModelWriter } from './model-writer.ts';

export interface PrimaryOptions {
  readonly disk: ModelDisk;
  readonly buffers: ModelBuffers;
  readonly writer: ModelWriter;
  /** Time of PostgreSQL's processes. */
  readonly timers: Timers;
  readonly random: Random;
  /** PostgreSQL says in its log that it ends a wait, or all of them. */
  readonly onEndedWait: () => void;
  readonly onReported: (position: Lsn) => void;
  /** How long a session takes from the end of its wait until others see what it has committed, beyond a moment. */
  readonly showMs: () => number;
  /** The session of the barrier that begins now is terminated by somebody. */
  readonly failsBarrier: () => boolean;
  readonly nextPid: () => number;
  /** Null: everything. */
  readonly keeps: Retention | null;
}

interface Waiter {
  readonly end: Lsn;
  readonly over: () => void;
}

const backgroundMs = 20;
const checkpointMs = 1500;
const checkpointsToVacuum = 4;

export class ModelPrimary {
  readonly buffers: ModelBuffers;
  readonly writer: ModelWriter;
  readonly locks = new ModelLocks();
  /** Transactions whose record is written, and which others do not see yet. */
  readonly hidden = new Set<bigint>();
  readonly sessions = new Map<number, ModelSession>();
  private readonly options: PrimaryOptions;
  private readonly streams = new Set<ModelStream>();
  private readonly stopWorking: (() => void)[] = [];
  private reportedTo = 0 as Lsn;
  private waiters: Waiter[] = [];
  private checkpointing: Promise<void> | null = null;
  private checkpoints = 0;
  private onDrained: (() => void) | null = null;

  constructor(options: PrimaryOptions) {
    this.options = options;
    this.buffers = options.buffers;
    this.writer = options.writer;
    this.writer.onSynced = () => {
      for (const stream of this.streams) stream.pump();
    };
    const { timers, random, buffers, writer } = options;
    this.stopWorking.push(
      timers.every(backgroundMs, () => {
        if (random.chance(0.5)) writer.syncPages();
        if (random.chance(0.2)) buffers.writeSome(random, writer.syncedTo);
      }),
      timers.every(checkpointMs, () => void this.checkpoint()),
    );
  }

  /** Commits whose record ends at or below need not wait. */
  get released(): Lsn {
    return this.reportedTo;
  }

  /** A little of PostgreSQL's time. */
  moment(): Promise<void> {
    const { timers, random } = this.options;
    return new Promise((resolve) =>
      timers.after(random.chance(0.05) ? random.below(8) : random.next(), resolve),
    );
  }

  /** Of a session whose wait is over. */
  async beforeShown(): Promise<void> {
    await this.moment();
    const ms = this.options.showMs();
    if (ms > 0) await new Promise<void>((resolve) => this.options.timers.after(ms, resolve));
  }

  connect(onEnd: (reason: string) => void): ModelSession {
    const session = new ModelSession(this, this.options.nextPid(), onEnd);
    this.sessions.set(session.pid, session);
    return session;
  }

  forget(session: ModelSession): void {
    this.sessions.delete(session.pid);
  }

  list(key: string): readonly string[] {
    return this.buffers.list(key, (xid) => !this.hidden.has(xid));
  }

  /** Where the record of the last commit ends that others see; null: there is none, or it was let go of. */
  newestSeen(): Lsn | null {
    const commits = this.buffers.commits().map((commit) => commit.split('@'));
    const seen = commits.findLast(([xid]) => !this.hidden.has(BigInt(xid!)));
    return seen === undefined ? null : (Number(seen[1]) as Lsn);
  }

  beginTransaction(): bigint {
    const { buffers } = this;
    const xid = buffers.nextXid;
    buffers.nextXid += 1n;
    buffers.running.add(xid);
    return xid;
  }

  /** Each in a session of its own: resolves when its commit is under way. @throws Error if that is ended before its commit begins */
  async barrier(): Promise<Lsn> {
    if (this.options.failsBarrier()) throw new Error('terminating connection due to administrator command');
    return this.connect(() => undefined).beginBarrier();
  }

  waitFor(end: Lsn, over: () => void): void {
    this.waiters.push({ end, over });
  }

  countEndedWait(): void {
    this.options.onEndedWait();
  }

  /** The synchronous standby has everything up to `position`. */
  reported(position: Lsn, stream: ModelStream): void {
    if (!this.streams.has(stream)) return;
    if (position > this.reportedTo) {
      this.options.onReported(position);
      this.reportedTo = position;
      const due = this.waiters.filter(({ end }) => end <= position);
      this.waiters = this.waiters.filter(({ end }) => end > position);
      for (const { over } of this.options.random.shuffled(due)) over();
    }
    this.tellDrained();
  }

  openStream(stream: ModelStream): void {
    this.streams.add(stream);
    stream.pump();
  }

  streamClosed(stream: ModelStream): void {
    this.streams.delete(stream);
    this.tellDrained();
  }

  /** All walsenders end. */
  endStreams(reason: string): void {
    for (const stream of this.streams) stream.end(reason);
    this.streams.clear();
  }

  readWal(from: Lsn, bytes: number): Buffer {
    return this.options.disk.wal.read(from, this.writer.timeline, bytes);
  }

  /** Its WAL up to now is enough for a recovery from here on. One at a time. */
  checkpoint(isShutdown = false): Promise<void> {
    if (this.checkpointing !== null && !isShutdown) return this.checkpointing;
    const before = this.checkpointing ?? Promise.resolve();
    const work = before.then(() => this.makeCheckpoint(isShutdown));
    this.checkpointing = work;
    return work.then(() => {
      if (this.checkpointing === work) this.checkpointing = null;
    });
  }

  private async makeCheckpoint(isShutdown: boolean): Promise<void> {
    const { buffers, writer, options } = this;
    this.checkpoints += 1;
    const { keeps } = options;
    if (keeps !== null && this.checkpoints % checkpointsToVacuum === 0) this.vacuum(keeps);
    const redo = writer.end;
    const facts = { redo, nextXid: buffers.nextXid, running: [...buffers.running] };
    const write = buffers.capture();
    await writer.sync(redo);
    await this.moment();
    const settled = write();
    const end = writer.insert({ kind: 'checkpoint', facts, isShutdown });
    await writer.sync(end);
    const { control } = options.disk;
    if (control === null) return;
    const { timeline } = writer;
    options.disk.checkpointed({ ...control, timeline, redo: facts, redoTimeline: timeline, settled });
    // What nobody has reported yet has to be sent once more, it may be.
    if (keeps !== null) options.disk.wal.removeBelow(walFrom(Math.min(redo, this.reportedTo) as Lsn, keeps));
  }

  private vacuum(keeps: Retention): void {
    const { buffers, writer, hidden } = this;
    let horizon = buffers.nextXid;
    for (const xids of [buffers.running, hidden]) for (const xid of xids) if (xid < horizon) horizon = xid;
    writer.insert({ kind: 'vacuum', ...vacuumAt(writer.end, horizon, keeps) });
  }

  /** Sessions are ended, a checkpoint is made, and the synchronous standby has everything. */
  async shutDown(): Promise<void> {
    this.countEndedWait();
    for (const session of this.sessions.values()) session.terminate(true);
    for (const stop of this.stopWorking) stop();
    await this.moment();
    await this.checkpoint(true);
    for (const stream of this.streams) stream.pump();
    await new Promise<void>((resolve) => {
      this.onDrained = resolve;
      this.tellDrained();
    });
    this.endStreams('PostgreSQL has shut down');
  }

  private tellDrained(): void {
    if (this.streams.size === 0 || this.reportedTo >= this.writer.end) this.onDrained?.();
  }

  /** The process that held all connections is dead. */
  clientsGone(): void {
    this.streams.clear();
    this.tellDrained();
    for (const session of this.sessions.values()) session.close();
  }

  /** The main process is dead: the others notice it one after another. */
  orphan(): void {
    const { timers, random } = this.options;
    for (const session of this.sessions.values())
      timers.after(random.next() * 5, () => session.terminate(false));
  }
}
