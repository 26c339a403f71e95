/**
 * Counts the ReadyForQuery messages that a client is owed: one for each Query, Sync and FunctionCall, but for the Syncs that PostgreSQL ignores.
 *
 * It ignores those that come while it takes COPY data, and a client may have sent them before anybody knows that a COPY has begun. So the Syncs behind a request that may
 * begin one are noted with it, until the client sends something else; when PostgreSQL says that it takes data, it is known which request it has come to.
 * Where a COPY fails it is not known which of them PostgreSQL had read. Those that it had not are answered with a ReadyForQuery ahead of the next request's answer, and before that one nothing else is
 * said: by this such `surplus` messages are found when they come.
 * It counts more than come in one case: of a batch of the extended protocol that goes on behind a COPY that failed, in which a Sync was sent ahead of the end of the data (`miscounts`).
 */

/** A request that may begin a COPY; a Query may begin several. */
interface MaybeCopy {
  /** ReadyForQuery messages that come before those of this request, counted from the beginning of the session. */
  position: number;
  /** The same of the next request that is more than a Sync; null while there is none. */
  next: number | null;
  /** How often PostgreSQL has said that it takes data, and how often the client has ended them. */
  began: number;
  ended: number;
  /** Syncs behind it, by how often the data had been ended before. */
  syncs: number[] | null;
}

/** Requests that are kept in mind; of more, what would be ignored is counted. */
const requestsMax = 1000;
/** The same of the COPYs of one request. */
const copiesMax = 1000;

export class OwedAnswers {
  due = 0;
  /** Messages of the extended protocol were sent behind the last Sync that counts. */
  open = false;
  /** It is counted more than comes. */
  miscounts = false;

  private toldBefore = 0;
  private readonly maybe: MaybeCopy[] = [];
  /** The request that was sent last, if it may begin a COPY. */
  private last: MaybeCopy | null = null;
  /** The one that PostgreSQL takes data for, or took them for, until the client is told its end. */
  private taking: MaybeCopy | null = null;
  /** The one that failed last, and how many Syncs behind it may be answered that are not counted. */
  private failedCopy: MaybeCopy | null = null;
  private surplus = 0;
  /** Of what `awaitUpTo` was called for. */
  private awaited = 0;

  get outstanding(): boolean {
    return this.due > 0 || this.open;
  }

  /** PostgreSQL takes COPY data, as far as is known, and ignores Syncs. */
  get isTaking(): boolean {
    return this.taking !== null && this.taking.ended < this.taking.began;
  }

  /** ReadyForQuery messages that come before that of what is sent next, counted from the beginning of the session. */
  get position(): number {
    return this.toldBefore + this.due;
  }

  /** How many of them were not told of those before the position that `awaitUpTo` was called with. */
  get dueAhead(): number {
    return this.awaited - this.toldBefore;
  }

  awaitUpTo(position: number): void {
    this.awaited = position;
  }

  get mayHaveSurplus(): boolean {
    return this.surplus > 0;
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
    if (this.isTaking) {
      noteSync(this.taking);
      return false;
    }
    this.due += 1;
    this.open = false;
    noteSync(this.last);
    return true;
  }

  /** CopyDone or CopyFail. */
  endedCopy(): void {
    const copy = this.last ?? this.taking;
    if (copy !== null) copy.ended += 1;
  }

  /** PostgreSQL takes COPY data. `untold`: ReadyForQuery messages that it has sent before and the client has not been told. False if the client has sent something else before it has ended them. */
  copyBegan(untold: number): boolean {
    const { maybe } = this;
    const position = this.toldBefore + untold;
    while (maybe.length > 0 && maybe[0]!.position < position) maybe.shift();
    if (maybe[0]?.position === position) this.taking = maybe.shift()!;
    const copy = this.taking;
    if (copy?.position !== position) return false;
    const ignored = copy.syncs?.[copy.began] ?? 0;
    copy.began += 1;
    this.due -= ignored;
    this.move(copy, -ignored);
    if (this.due <= untold) this.open = true;
    return true;
  }

  /** PostgreSQL has said an error. */
  failed(untold: number): void {
    const { taking } = this;
    if (taking === null || taking.position !== this.toldBefore + untold) return;
    this.taking = null;
    this.failedCopy = taking;
    this.surplus = taking.syncs?.[taking.began - 1] ?? 0;
    this.countSurplus();
  }

  /** PostgreSQL has said ReadyForQuery. `isBare`: no answer came before it. */
  ready(isBare: boolean, untold: number): void {
    const { failedCopy } = this;
    if (failedCopy === null || this.surplus === 0) return;
    const { next } = failedCopy;
    if (next === null ? untold < this.due : this.toldBefore + untold < next) return;
    if (next !== null && !isBare) {
      this.surplus = 0;
      return;
    }
    this.surplus -= 1;
    this.due += 1;
    // The Sync has ended the batch of the COPY.
    if (next === null) this.open = false;
    this.move(failedCopy, 1);
  }

  told(times: number): void {
    // One more than was counted: a Sync was not ignored, and has ended its batch.
    if (times > this.due) this.open = false;
    this.due = Math.max(0, this.due - times);
    this.toldBefore += times;
    if (!this.outstanding) {
      this.maybe.length = 0;
      this.miscounts = false;
    }
    if (this.taking !== null && this.taking.position < this.toldBefore) this.taking = null;
  }

  private sentRequest(): void {
    const { last } = this;
    if (last === null) return;
    this.last = null;
    last.next = this.position;
    this.countSurplus();
    // If that one is a COPY after all, PostgreSQL ends the session: its data were not ended.
    if (last.ended === 0 && this.maybe.at(-1) === last) this.maybe.pop();
  }

  private mayCopy(): void {
    this.last = { position: this.position, next: null, began: 0, ended: 0, syncs: null };
    if (this.maybe.length < requestsMax) this.maybe.push(this.last);
  }

  /** If the next request belongs to the batch of the COPY that failed, it cannot be told which of two answers comes: what was perhaps not ignored is counted. */
  private countSurplus(): void {
    if (this.surplus === 0 || this.failedCopy?.next !== this.failedCopy?.position) return;
    this.due += this.surplus;
    this.surplus = 0;
    this.miscounts = true;
  }

  /** So many more answers come behind this one. */
  private move(copy: MaybeCopy, by: number): void {
    if (copy.next !== null) copy.next += by;
    if (this.awaited > copy.position) this.awaited += by;
    for (const later of this.maybe) {
      later.position += by;
      if (later.next !== null) later.next += by;
    }
  }
}

function noteSync(copy: MaybeCopy | null): void {
  if (copy === null || copy.ended > copiesMax) return;
  copy.syncs ??= [];
  copy.syncs[copy.ended] = (copy.syncs[copy.ended] ?? 0) + 1;
}
