/**
 * The disk under a log of segments, with the system's cache before it, in simulated time: what a crash leaves of writes that were under way is for chance to say.
 *
 * Responsible for: what survives the death of a process, which leaves what the cache has, and that of the machine, which leaves what was flushed, and of all else any sectors in any order. Names are kept in the order in which they
 * were made, up to some point behind the last flush of the directory, as by the journal of a file system.
 * Invariant: one process at a time has it open; one that has died changes nothing any more.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { SECTOR_BYTES, segmentOfName } from '../layout.ts';
import type { SegmentDirectory, SegmentFile } from '../segment-directory.ts';

interface Inode {
  /** What a read finds. */
  cached: Buffer;
  /** What is there after the power has failed. */
  flushed: Buffer;
  /** Sectors of the cache that are not flushed. */
  readonly dirty: Set<number>;
}

interface Write {
  readonly inode: Inode;
  readonly data: Buffer;
  readonly position: number;
}

type Names = ReadonlyMap<string, Inode>;

export interface DiskOptions {
  readonly random: Random;
  readonly path?: string;
}

export class SimulatedDisk {
  /** Bytes that may still be taken. */
  freeBytes = Number.POSITIVE_INFINITY;
  /** Set: the next write fails with this code, and a part of it is there. */
  nextWriteError: string | null = null;
  /** How much longer it takes for everything. */
  slowness = 1;
  /** So much longer it takes besides. */
  delayMs = 0;
  /** It says that a write is flushed when the cache has it. No disk may do that. */
  lies = false;
  /** Somebody looks on from outside the world: what is read now takes no time, and leaves nothing to chance. */
  isLookedInto = false;
  private readonly random: Random;
  private readonly path: string;
  private names: Names = new Map();
  /** As they were after the last flush of the directory, and after each change since. */
  private history: Names[] = [new Map()];
  private readonly underWay = new Set<Write>();
  private opened = 0;

  constructor({ random, path = '/simulated' }: DiskOptions) {
    this.random = random;
    this.path = path;
  }

  /** For one life of a process. `isSlow` says whether what it does now takes time. */
  open(timers: Timers, isSlow: () => boolean = () => true): SegmentDirectory {
    this.opened += 1;
    const life = this.opened;
    return this.directory(async () => {
      if (isSlow()) await this.pause(timers);
      if (life !== this.opened) await new Promise(() => undefined);
    });
  }

  private pause(timers: Timers): Promise<void> {
    const { random, slowness, delayMs } = this;
    const ms = random.chance(0.01) ? random.next() * 40 : 0.2 + random.next() * 0.8;
    return new Promise((resolve) => timers.after(ms * slowness + delayMs, resolve));
  }

  private directory(takesTime: () => Promise<void>): SegmentDirectory {
    const changed = async (change: (names: Map<string, Inode>) => void): Promise<void> => {
      await takesTime();
      const names = new Map(this.names);
      change(names);
      this.names = names;
      this.history.push(names);
    };
    return {
      path: this.path,
      list: async () => {
        await takesTime();
        return [...this.names.keys()];
      },
      create: async (name) => {
        const inode: Inode = { cached: Buffer.alloc(0), flushed: Buffer.alloc(0), dirty: new Set() };
        await changed((names) => {
          this.freeBytes += names.get(name)?.cached.length ?? 0;
          names.set(name, inode);
        });
        return this.file(inode, takesTime);
      },
      open: async (name) => {
        await takesTime();
        return this.file(this.must(name), takesTime);
      },
      rename: (from, to) =>
        changed((names) => {
          names.set(to, this.must(from));
          names.delete(from);
        }),
      remove: (name) =>
        changed((names) => {
          this.freeBytes += this.must(name).cached.length;
          names.delete(name);
        }),
      sync: async () => {
        const { names } = this;
        await takesTime();
        const at = this.history.indexOf(names);
        if (at > 0) this.history = this.history.slice(at);
      },
    };
  }

  private must(name: string): Inode {
    const inode = this.names.get(name);
    if (inode === undefined) throw ioError('ENOENT');
    return inode;
  }

  private file(inode: Inode, takesTime: () => Promise<void>): SegmentFile {
    let isOpen = true;
    const mustBeOpen = (): void => {
      if (!isOpen) throw ioError('EBADF');
    };
    return {
      size: () => Promise.resolve(inode.cached.length),
      write: async (bytes, position) => {
        mustBeOpen();
        const write = { inode, data: Buffer.from(bytes), position };
        this.underWay.add(write);
        await takesTime();
        this.underWay.delete(write);
        this.finish(write);
      },
      read: async (into, position) => {
        mustBeOpen();
        if (!this.isLookedInto) await takesTime();
        return inode.cached.subarray(position, position + into.length).copy(into);
      },
      sync: async () => {
        mustBeOpen();
        await takesTime();
        for (const sector of inode.dirty) flush(inode, sector);
        inode.dirty.clear();
      },
      close: () => {
        isOpen = false;
        return Promise.resolve();
      },
    };
  }

  private finish(write: Write): void {
    const { inode, data, position } = write;
    const error = this.nextWriteError;
    this.nextWriteError = null;
    const grows = Math.max(0, position + data.length - inode.cached.length);
    if (error === null && grows <= this.freeBytes) {
      this.freeBytes -= grows;
      putIntoCache(write, data.length);
      if (!this.lies) flushRange(inode, position, position + data.length);
      return;
    }
    const part = Math.min(this.random.below(data.length + 1), data.length - grows + this.freeBytes);
    const before = inode.cached.length;
    putIntoCache(write, part);
    this.freeBytes -= inode.cached.length - before;
    throw ioError(error ?? 'ENOSPC');
  }

  /** Of the writes of a process that is killed the cache has none, a part or all. */
  crashProcess(): void {
    this.opened += 1;
    for (const write of this.underWay) {
      const grows = write.position + write.data.length > write.inode.cached.length;
      if (grows && this.freeBytes < write.data.length) continue;
      const part = this.random.chance(0.5) ? write.data.length : this.random.below(write.data.length + 1);
      const before = write.inode.cached.length;
      putIntoCache(write, part);
      this.freeBytes -= write.inode.cached.length - before;
    }
    this.underWay.clear();
  }

  /** The power fails. */
  crashMachine(): void {
    for (const { data, inode, position } of this.underWay)
      putIntoCache({ data, inode, position }, data.length);
    this.opened += 1;
    this.underWay.clear();
    this.names = this.history[this.random.below(this.history.length)]!;
    this.history = [this.names];
    let bytes = 0;
    for (const inode of new Set(this.names.values())) {
      const keepsAll = this.random.chance(0.2);
      for (const sector of inode.dirty) if (keepsAll || this.random.chance(0.5)) flush(inode, sector);
      inode.dirty.clear();
      bytes += inode.cached.length - inode.flushed.length;
      inode.cached = Buffer.from(inode.flushed);
    }
    this.freeBytes += bytes;
  }

  wipe(): void {
    this.opened += 1;
    this.underWay.clear();
    this.names = new Map();
    this.history = [this.names];
  }

  get hasLog(): boolean {
    return this.segments.length > 0;
  }

  private get segments(): readonly string[] {
    return [...this.names.keys()].filter((name) => segmentOfName(name) !== null);
  }

  /** One bit of a segment turns, which is not in use. Says where; null: there is none. */
  rot(): string | null {
    const { segments } = this;
    if (segments.length === 0) return null;
    const name = this.random.pick(segments);
    const { cached, flushed } = this.must(name);
    let end = cached.length;
    while (end > 0 && cached[end - 1] === 0) end -= 1;
    const [at, bit] = [this.random.below(end), 1 << this.random.below(8)];
    for (const bytes of [cached, flushed]) bytes[at] = bytes[at]! ^ bit;
    return `${name}, byte ${at}`;
  }
}

function ioError(code: string): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

function putIntoCache({ inode, data, position }: Write, part: number): void {
  if (part <= 0) return;
  inode.cached = longEnough(inode.cached, position + part);
  data.copy(inode.cached, position, 0, part);
  const [first, last] = [
    Math.floor(position / SECTOR_BYTES),
    Math.floor((position + part - 1) / SECTOR_BYTES),
  ];
  for (let sector = first; sector <= last; sector++) inode.dirty.add(sector);
}

function longEnough(bytes: Buffer, length: number): Buffer {
  return length <= bytes.length ? bytes : Buffer.concat([bytes, Buffer.alloc(length - bytes.length)]);
}

function flush(inode: Inode, sector: number): void {
  const end = Math.min((sector + 1) * SECTOR_BYTES, inode.cached.length);
  inode.flushed = longEnough(inode.flushed, end);
  inode.cached.copy(inode.flushed, sector * SECTOR_BYTES, sector * SECTOR_BYTES, end);
}

/** All of a write at once. */
function flushRange(inode: Inode, from: number, to: number): void {
  inode.flushed = longEnough(inode.flushed, to);
  inode.cached.copy(inode.flushed, from, from, to);
  const last = Math.floor((to - 1) / SECTOR_BYTES);
  for (let sector = Math.floor(from / SECTOR_BYTES); sector <= last; sector++) inode.dirty.delete(sector);
}
