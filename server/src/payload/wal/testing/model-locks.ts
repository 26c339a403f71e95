/** Who writes to a key while its transaction goes on: one at a time, the others in the order in which they came. Pure. */

/** A session; or the name of a prepared transaction. */
export type LockHolder = object | string;

interface Waiter {
  readonly holder: LockHolder;
  readonly resolve: (isHeld: boolean) => void;
}

interface Lock {
  holder: LockHolder;
  waiting: Waiter[];
}

export class ModelLocks {
  private readonly held = new Map<string, Lock>();

  /** Resolves true once the lock is this one's, false if it gives up before. */
  take(key: string, holder: LockHolder): Promise<boolean> {
    const lock = this.held.get(key);
    if (lock === undefined) {
      this.held.set(key, { holder, waiting: [] });
      return Promise.resolve(true);
    }
    if (lock.holder === holder) return Promise.resolve(true);
    return new Promise((resolve) => lock.waiting.push({ holder, resolve }));
  }

  /** It waits for nothing any more. */
  giveUp(holder: LockHolder): void {
    for (const lock of this.held.values()) {
      const gone = lock.waiting.filter((waiter) => waiter.holder === holder);
      lock.waiting = lock.waiting.filter((waiter) => waiter.holder !== holder);
      for (const { resolve } of gone) resolve(false);
    }
  }

  /** All that it holds or waits for. */
  release(holder: LockHolder): void {
    this.giveUp(holder);
    for (const [key, lock] of this.held) {
      if (lock.holder !== holder) continue;
      const next = lock.waiting.shift();
      if (next === undefined) this.held.delete(key);
      else lock.holder = next.holder;
      next?.resolve(true);
    }
  }

  passOn(from: LockHolder, to: LockHolder): void {
    for (const lock of this.held.values()) if (lock.holder === from) lock.holder = to;
  }
}
