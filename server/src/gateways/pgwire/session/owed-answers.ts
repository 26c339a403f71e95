/**
 * Counts the ReadyForQuery messages that a client is owed: one for each Query, Sync and FunctionCall, but for the Syncs that PostgreSQL ignores.
 *
 * It ignores those that come while it takes COPY data, and a client may have sent them before anybody knows that a COPY has begun. So the Syncs behind a request that may
 * begin one are noted with it, until the client ends the data or sends something else; when PostgreSQL says that it takes data, it is known which request it has come to.
 * Where it cannot know, it counts more than come. There are two such cases: a COPY fails, it is not known whether it had read those Syncs before, and the client has sent more without waiting; and a
 * Sync during the second COPY of one Query, which is counted though it is ignored.
 * It counts less in one: Syncs that a failed COPY has perhaps not ignored are not counted where nothing is sent behind them before the error is told. They commit nothing, but a ReadyForQuery
 * of theirs that is told behind the next request is taken for the answer to that (docs/open-points.md).
 */

/** A request that may begin a COPY. */
interface MaybeCopy {
  /** ReadyForQuery messages that come before those of this request, counted from the beginning of the session. */
  position: number;
  /** Syncs behind it that are ignored if it is a COPY. */
  syncs: number;
  /** The client may still be sending data for it. */
  open: boolean;
}

/** Requests that are kept in mind; of more, what would be ignored is counted. */
const requestsMax = 1000;

export class OwedAnswers {
  due = 0;
  /** Messages of the extended protocol were sent behind the last Sync that counts. */
  open = false;

  private toldBefore = 0;
  private readonly maybe: MaybeCopy[] = [];
  /** The request that was sent last, if it may begin a COPY. */
  private last: MaybeCopy | null = null;
  /** The one that PostgreSQL takes data for, or took them for, until the client is told its end. */
  private taking: MaybeCopy | null = null;
  /** Syncs that were perhaps not ignored. */
  private perhaps = 0;

  get outstanding(): boolean {
    return this.due > 0 || this.open;
  }

  /** PostgreSQL takes COPY data, as far as is known, and ignores Syncs. */
  get isTaking(): boolean {
    return this.taking?.open === true;
  }

  /** A request that owes an answer of its own and may begin a COPY. */
  sentQuery(): void {
    this.sentRequest();
    this.open = false;
    this.mayCopy();
    this.due += 1;
  }

  /** A request that owes an answer of its own and begins no COPY. */
  sentCall(): void {
    this.sentRequest();
    this.open = false;
    this.due += 1;
  }

  sentExecute(): void {
    this.sentExtended();
    this.mayCopy();
  }

  /** Any other message of the extended protocol, but for Flush. */
  sentExtended(): void {
    this.sentRequest();
    this.open = true;
  }

  /** Returns whether it counts. */
  sentSync(): boolean {
    if (this.taking?.open === true) {
      this.taking.syncs += 1;
      return false;
    }
    this.due += 1;
    this.open = false;
    if (this.last?.open === true) this.last.syncs += 1;
    return true;
  }

  /** CopyDone or CopyFail. */
  endedCopy(): void {
    if (this.last !== null) this.last.open = false;
    if (this.taking !== null) this.taking.open = false;
  }

  /** PostgreSQL takes COPY data. `untold`: ReadyForQuery messages that it has sent before and the client has not been told. */
  copyBegan(untold: number): void {
    const { maybe } = this;
    const position = this.toldBefore + untold;
    while (maybe.length > 0 && maybe[0]!.position < position) maybe.shift();
    const copy = maybe[0];
    if (copy?.position !== position) return;
    maybe.shift();
    this.taking = copy;
    this.due -= copy.syncs;
    for (const later of maybe) later.position -= copy.syncs;
    if (this.due <= untold) this.open = true;
  }

  /** PostgreSQL has said an error. */
  failed(untold: number): void {
    const { taking } = this;
    if (taking === null || taking.position !== this.toldBefore + untold) return;
    taking.open = false;
    this.taking = null;
    if (this.last === taking) this.perhaps += taking.syncs;
    else this.due += taking.syncs;
  }

  told(times: number): void {
    // One more than was counted: a Sync was not ignored, and has ended its batch.
    if (times > this.due) this.open = false;
    this.due = Math.max(0, this.due - times);
    this.toldBefore += times;
    if (this.due === 0) this.perhaps = 0;
    if (!this.outstanding) this.maybe.length = 0;
    if (this.taking !== null && this.taking.position < this.toldBefore) this.taking = null;
  }

  private get position(): number {
    return this.toldBefore + this.due;
  }

  private sentRequest(): void {
    this.due += this.perhaps;
    this.perhaps = 0;
    // If that one is a COPY after all, PostgreSQL ends the session: its data were not ended.
    if (this.last?.open === true && this.maybe.at(-1) === this.last) this.maybe.pop();
    this.last = null;
  }

  private mayCopy(): void {
    this.last = { position: this.position, syncs: 0, open: true };
    if (this.maybe.length < requestsMax) this.maybe.push(this.last);
  }
}
