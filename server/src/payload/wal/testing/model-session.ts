/**
 * One session of a client, on the side of the modelled PostgreSQL: its transaction, the locks that it holds, and the wait of its COMMIT.
 *
 * Invariants: its transaction is in the WAL before it waits; nobody sees it before the wait is over, however that ends; what ends the wait early is counted before anybody sees it.
 */
import type { Lsn } from '../../../wal/lsn.ts';
import type { ModelPrimary } from './model-primary.ts';
import type { ModelChange } from './model-records.ts';

/** `off`: a commit waits for nothing; `local`: for this PostgreSQL's own disk; `on`: until its position is reported, too. */
export type CommitMode = 'on' | 'local' | 'off';

export type Request =
  | { readonly kind: 'append'; readonly key: string; readonly value: string }
  | { readonly kind: 'drop'; readonly key: string }
  | { readonly kind: 'read'; readonly keys: readonly string[] }
  | { readonly kind: 'commit' | 'rollback' }
  | { readonly kind: 'prepare' | 'commitPrepared' | 'abortPrepared'; readonly name: string }
  | { readonly kind: 'mode'; readonly mode: CommitMode };

/** `warning`: the wait for the standby was ended. */
export type Answer =
  | { readonly kind: 'done'; readonly warning: boolean; readonly lists: readonly (readonly string[])[] }
  | { readonly kind: 'error'; readonly message: string };

type RowChange = Extract<ModelChange, { kind: 'row' }>;
type DropChange = Extract<ModelChange, { kind: 'drop' }>;
type WaitEnd = 'released' | 'cancelled' | 'terminated';

const done: Extract<Answer, { kind: 'done' }> = { kind: 'done', warning: false, lists: [] };

export class ModelSession {
  readonly pid: number;
  mode: CommitMode = 'on';
  private readonly primary: ModelPrimary;
  private readonly onEnd: (reason: string) => void;
  private id: bigint | null = null;
  private working: Promise<unknown> = Promise.resolve();
  private endWait: ((end: WaitEnd) => void) | null = null;
  /** What was asked for while the commit was not waiting yet. */
  private wish: 'cancelled' | 'terminated' | null = null;
  private ended = false;

  constructor(primary: ModelPrimary, pid: number, onEnd: (reason: string) => void) {
    this.primary = primary;
    this.pid = pid;
    this.onEnd = onEnd;
  }

  /** Of the transaction that is open and has written. */
  get xid(): bigint | null {
    return this.id;
  }

  get isWaiting(): boolean {
    return this.endWait !== null;
  }

  /** One after another. The answer never comes if the session ends before. */
  async ask(request: Request): Promise<Answer> {
    const before = this.working;
    const work = before.then(() => (this.ended ? never() : this.run(request)));
    this.working = work;
    return work;
  }

  private async run(request: Request): Promise<Answer> {
    const { primary } = this;
    await primary.moment();
    if (this.ended) return never();
    switch (request.kind) {
      case 'append':
        return this.write({ kind: 'row', key: request.key, value: request.value });
      case 'drop':
        return this.write({ kind: 'drop', key: request.key });
      case 'read':
        return { ...done, lists: request.keys.map((key) => primary.list(key)) };
      case 'rollback':
        this.abort();
        return done;
      case 'commit':
        return this.commit();
      case 'prepare':
        return this.prepare(request.name);
      case 'commitPrepared':
      case 'abortPrepared':
        return this.endPrepared(request.kind, request.name);
      case 'mode':
        this.mode = request.mode;
        return done;
      default:
        return request satisfies never;
    }
  }

  private async write(change: Omit<RowChange, 'xid'> | Omit<DropChange, 'xid'>): Promise<Answer> {
    const { primary } = this;
    const isHeld = await primary.locks.take(change.key, this);
    if (this.ended) return never();
    if (!isHeld) {
      this.abort();
      return { kind: 'error', message: 'canceling statement due to user request' };
    }
    this.id ??= primary.beginTransaction();
    primary.writer.insert({ ...change, xid: this.id });
    return done;
  }

  private async commit(): Promise<Answer> {
    const { id, primary } = this;
    if (id === null) return done;
    const end = await this.finish(id, () => primary.writer.insert({ kind: 'commit', xid: id }));
    return this.answerAfter(end);
  }

  private async prepare(name: string): Promise<Answer> {
    const { id, primary } = this;
    if (id === null) return done;
    primary.locks.passOn(this, name);
    const end = await this.finish(id, () => primary.writer.insert({ kind: 'prepare', xid: id, name }));
    return this.answerAfter(end);
  }

  private async endPrepared(kind: 'commitPrepared' | 'abortPrepared', name: string): Promise<Answer> {
    const { primary } = this;
    const xid = primary.buffers.prepared.get(name);
    if (xid === undefined) return { kind: 'error', message: `there is no prepared transaction "${name}"` };
    const end = await this.finish(xid, () => primary.writer.insert({ kind, xid, name }));
    primary.locks.release(name);
    return this.answerAfter(end);
  }

  private answerAfter(end: WaitEnd): Promise<Answer> | Answer {
    if (end === 'terminated') {
      this.end('terminating connection due to administrator command');
      return never();
    }
    return { ...done, warning: end === 'cancelled' };
  }

  /** The record that decides is written, made durable and waited for; then the transaction is seen, and its locks are free. */
  private async finish(xid: bigint, insert: () => Lsn): Promise<WaitEnd> {
    const { primary, mode } = this;
    this.wish = null;
    primary.hidden.add(xid);
    const end = insert();
    if (mode !== 'off') await primary.writer.sync(end);
    const how = mode === 'on' ? await this.wait(end) : 'released';
    if (how !== 'released' || mode === 'on') await primary.beforeShown();
    primary.hidden.delete(xid);
    this.id = null;
    primary.locks.release(this);
    return how;
  }

  private async wait(end: Lsn): Promise<WaitEnd> {
    if (this.primary.released >= end) return 'released';
    if (this.wish !== null) {
      this.primary.countEndedWait();
      return this.wish;
    }
    return new Promise((resolve) => {
      const over = (how: WaitEnd): void => {
        this.endWait = null;
        resolve(how);
      };
      this.endWait = over;
      this.primary.waitFor(end, () => {
        if (this.endWait === over) over('released');
      });
    });
  }

  /** A commit of nothing, which is under way when it resolves. Returns a position above all that was seen before. */
  async beginBarrier(): Promise<Lsn> {
    const { primary } = this;
    await primary.moment();
    if (this.ended) return never();
    const position = primary.writer.insert({ kind: 'filler', bytes: 16 });
    const xid = primary.beginTransaction();
    this.id = xid;
    const insert = (): Lsn => primary.writer.insert({ kind: 'commit', xid });
    void this.finish(xid, insert).then(() => this.end('it has done what it was for'));
    return position;
  }

  /** As by pg_cancel_backend or a cancel request. */
  cancel(): void {
    if (this.isCommitting) this.endWaitEarly('cancelled', true);
    else this.primary.locks.giveUp(this);
  }

  /** As by pg_terminate_backend, or the end of PostgreSQL. `isSaid`: PostgreSQL tells it in its log before. */
  terminate(isSaid: boolean): void {
    if (this.isCommitting) {
      this.endWaitEarly('terminated', isSaid);
      return;
    }
    this.abort();
    this.end('terminating connection due to administrator command');
  }

  private get isCommitting(): boolean {
    return this.id !== null && this.primary.hidden.has(this.id);
  }

  private endWaitEarly(how: 'cancelled' | 'terminated', isSaid: boolean): void {
    const { endWait } = this;
    if (endWait === null) this.wish = how;
    else if (isSaid) this.primary.countEndedWait();
    endWait?.(how);
  }

  private abort(): void {
    const { id, primary } = this;
    // What is being committed is not taken back any more.
    if (this.isCommitting) return;
    if (id !== null) primary.writer.insert({ kind: 'abort', xid: id });
    this.id = null;
    primary.locks.release(this);
  }

  private end(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.primary.forget(this);
    this.onEnd(reason);
  }

  /** The client has left. */
  close(): void {
    if (this.ended) return;
    this.abort();
    // A commit that waits goes on: PostgreSQL does not notice that nobody will hear of it.
    if (this.id === null) this.end('the client has left');
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
