/**
 * Of node:stream as much of a Duplex for objects as a copy of a modelled database goes over (payload/wal/testing/channel.ts): written to one chunk after the other, read by asking, ended, destroyed.
 *
 * Invariants, as in Node.js: nobody is called from within a call of theirs; `end` comes when all was read, `close` last and once; nothing but that comes of one that is destroyed.
 */
type Heard = (...args: readonly unknown[]) => void;
type Done = (error?: Error | null) => void;

class Emitter {
  private readonly heard = new Map<string, Heard[]>();

  on(name: string, work: Heard): this {
    this.heard.set(name, [...(this.heard.get(name) ?? []), work]);
    return this;
  }

  once(name: string, work: Heard): this {
    const first: Heard = (...args) => {
      this.off(name, first);
      work(...args);
    };
    return this.on(name, first);
  }

  off(name: string, work: Heard): this {
    this.heard.set(
      name,
      (this.heard.get(name) ?? []).filter((other) => other !== work),
    );
    return this;
  }

  protected emit(name: string, ...args: readonly unknown[]): void {
    for (const work of this.heard.get(name) ?? []) work(...args);
  }
}

interface Writing {
  readonly chunk: unknown;
  readonly done: Done | undefined;
}

export class Duplex extends Emitter {
  destroyed = false;
  private readonly readableMax: number;
  private readonly arrived: unknown[] = [];
  private readonly writes: Writing[] = [];
  private isWriting = false;
  private isEnding = false;
  private isFinished = false;
  private hasEnded = false;
  private toldEnd = false;

  constructor({ readableHighWaterMark = 16 }: { readonly readableHighWaterMark?: number } = {}) {
    super();
    this.readableMax = readableHighWaterMark;
  }

  // What a kind of Duplex gives.
  _read(): void {}
  _write(_chunk: unknown, _encoding: string, done: Done): void {
    done();
  }
  _final(done: Done): void {
    done();
  }
  _destroy(error: Error | null, done: (error: Error | null) => void): void {
    done(error);
  }

  /** False: there is no room for more. */
  push(chunk: unknown): boolean {
    if (this.destroyed || this.hasEnded) return false;
    if (chunk === null) this.hasEnded = true;
    else this.arrived.push(chunk);
    queueMicrotask(() => {
      if (this.destroyed) return;
      if (this.arrived.length > 0 || this.hasEnded) this.emit('readable');
      this.endIfRead();
    });
    return !this.hasEnded && this.arrived.length < this.readableMax;
  }

  read(): unknown {
    if (this.destroyed) return null;
    const chunk = this.arrived.shift() ?? null;
    if (!this.hasEnded && this.arrived.length < this.readableMax) this['_read']();
    if (chunk === null) this.endIfRead();
    return chunk;
  }

  private endIfRead(): void {
    if (!this.hasEnded || this.arrived.length > 0 || this.toldEnd) return;
    this.toldEnd = true;
    queueMicrotask(() => {
      if (this.destroyed) return;
      this.emit('end');
      // The other half is ended with it only if it was.
      if (this.isFinished) this.destroy();
    });
  }

  write(chunk: unknown, done?: Done): boolean {
    if (this.destroyed || this.isEnding) {
      queueMicrotask(() => done?.(new Error('nothing can be written any more')));
      return false;
    }
    this.writes.push({ chunk, done });
    this.writeNext();
    return true;
  }

  private writeNext(): void {
    if (this.isWriting || this.destroyed) return;
    const next = this.writes.shift();
    if (next === undefined) {
      this.finishIfEnding();
      return;
    }
    this.isWriting = true;
    let isOver = false;
    this['_write'](next.chunk, 'utf8', (error) => {
      if (isOver) return;
      isOver = true;
      queueMicrotask(() => {
        this.isWriting = false;
        next.done?.(error ?? null);
        if (!error) this.writeNext();
      });
    });
  }

  end(chunk?: unknown): this {
    if (chunk !== undefined) this.write(chunk);
    this.isEnding = true;
    this.finishIfEnding();
    return this;
  }

  private finishIfEnding(): void {
    if (!this.isEnding || this.isFinished || this.isWriting || this.writes.length > 0) return;
    this.isFinished = true;
    queueMicrotask(() => {
      if (this.destroyed) return;
      this['_final'](() => {
        queueMicrotask(() => {
          if (this.destroyed) return;
          this.emit('finish');
          if (this.toldEnd) this.destroy();
        });
      });
    });
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    const left = this.writes.splice(0);
    this['_destroy'](error ?? null, (problem) => {
      queueMicrotask(() => {
        for (const { done } of left) done?.(problem ?? new Error('it was destroyed'));
        if (problem !== null) this.emit('error', problem);
        this.emit('close');
      });
    });
    return this;
  }
}
