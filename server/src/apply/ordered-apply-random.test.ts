/**
 * Random lives of one replica's database: it follows and leads, its PostgreSQL crashes and forgets, or is replaced by a copy that is ahead; the log is
 * purged as far as was reported; sessions commit late, out of order or never; members change, and checks are made. At the end everything
 * chosen is in, once, each check saw exactly what stood below it, and the configuration stored is that of the pointer.
 */
import { describe, expect, it } from 'vitest';
import type { Configuration, Entry, ReplicaId, Slot } from '../multipaxos/types.ts';
import { createOrderedApply } from './ordered-apply.ts';
import { check, group, transaction } from './testing/array-log.ts';
import { MemoryDatabase } from './testing/memory-database.ts';

const seeds = Number(process.env['APPLY_SEEDS'] ?? 150);
const firstSeed = Number(process.env['APPLY_SEED'] ?? 1);
const steps = 120;

function randomFrom(seed: number): (below: number) => number {
  let state = seed * 0x9e3779b9;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Open {
  readonly id: string;
  readonly slots: Slot[];
}

class Life {
  readonly entries: Entry[] = [];
  readonly expected: string[] = [];
  readonly database = new MemoryDatabase();
  readonly trouble: string[] = [];
  /** Checks that were met, and the configurations by version, as the log has them. */
  checksMet = 0;
  readonly configurations: Configuration[] = [];
  private readonly checks = new Map<string, readonly string[]>();
  purgedTo = 0;
  leading = false;
  private leadership = { round: 1, replica: 'r1' as ReplicaId };
  /** Parts chosen so far of the transaction that is under way. */
  private open: Open | null = null;
  /** Chosen while leading, for a session to commit. */
  private uncommitted: { readonly slot: Slot; readonly name: string }[] = [];
  private reportedTo = 0;
  private count = 0;
  private readonly random: (below: number) => number;
  readonly apply = createOrderedApply({
    log: { read: (from, to) => this.read(from, to) },
    commitPoint: 0 as Slot,
    onApplied: (_slot, durable) => {
      this.reportedTo = Math.max(this.reportedTo, durable);
    },
    onEvent: () => {},
    onDiverged: (reason) => this.trouble.push(reason),
    onDatabaseDown: (error) => this.trouble.push(error.message),
    batchEntriesMax: 4,
    batchBytesMax: 1 << 16,
    queueEntriesMax: 6,
    onCopyNeeded: (reason) => this.trouble.push(reason),
    verify: {
      waitMs: 1_000,
      onVerify: (check, slot, signal) => this.takeSnapshot(check, slot, signal),
      onVerifyGivenUp: () => {},
    },
  });

  private async takeSnapshot(check: string, slot: Slot, signal: AbortSignal): Promise<void> {
    for (let turns = this.random(4); turns > 0; turns--) await Promise.resolve();
    const seen = this.database.contents.applied.toSorted().join(' ');
    const below = (this.checks.get(check) ?? []).toSorted().join(' ');
    this.checksMet++;
    if (!signal.aborted && seen !== below) this.trouble.push(`check at ${slot} saw ${seen}, not ${below}`);
  }

  private chooseCheck(): void {
    const name = `c${this.count++}`;
    this.checks.set(name, [...this.expected]);
    this.choose(check(name));
  }

  private chooseConfiguration(): void {
    const version = this.configurations.length + 1;
    const { leadership: ballot } = this;
    const slot = this.choose({ kind: 'configuration', group, ballot, version, members: [] });
    this.configurations.push({ version, slot, members: [] });
  }

  /** The database is lost; a copy of another replica's, which has applied everything, takes its place. The log below may be gone. */
  private async copy(): Promise<void> {
    if (this.leading || this.open !== null) return;
    const stopped = this.apply.stop();
    await stopped;
    const pointer = this.entries.length as Slot;
    this.database.contents = {
      pointer,
      above: [],
      keep: {
        keepFrom: (pointer + 1) as Slot,
        leadership: this.leadership,
        configuration: this.configurations.at(-1) ?? null,
      },
      applied: [...this.expected],
    };
    await this.database.flush();
    if (this.random(2) === 0) this.purgedTo = pointer;
    await this.apply.follow(this.database);
  }

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  private async read(from: Slot, to: Slot): Promise<Entry[]> {
    for (let turns = this.random(4); turns > 0; turns--) await Promise.resolve();
    return from <= this.purgedTo ? [] : this.entries.slice(from - 1, to);
  }

  private choose(entry: Entry): Slot {
    this.entries.push(entry);
    const slot = this.entries.length as Slot;
    this.apply.chosen([{ slot, entry }]);
    return slot;
  }

  private chooseTransaction(): void {
    if (this.open === null && this.random(4) === 0) this.open = { id: `t${this.count++}`, slots: [] };
    const { open } = this;
    if (open === null || this.random(3) === 0) this.chooseLast(`t${this.count++}`, []);
    else if (open.slots.length > 0 && this.random(2) === 0) {
      this.open = null;
      this.chooseLast(open.id, open.slots);
    } else this.choosePart(open);
  }

  private choosePart({ id, slots }: Open): void {
    const { leadership } = this;
    slots.push(this.choose(transaction(id, { part: slots.length, last: false, leadership })));
  }

  private chooseLast(id: string, partSlots: readonly Slot[]): void {
    const name = `${id}#${partSlots.length}`;
    this.expected.push(name);
    const { leadership } = this;
    const slot = this.choose(transaction(id, { part: partSlots.length, partSlots, leadership }));
    if (this.leading) this.uncommitted.push({ slot, name });
  }

  private startLeader(): void {
    this.open = null;
    this.leadership = { round: this.leadership.round + 1, replica: 'r1' as ReplicaId };
    this.choose({ kind: 'leaderStart', group, ballot: this.leadership });
  }

  private async lead(): Promise<void> {
    if (this.leading) return;
    this.startLeader();
    await this.settle();
    this.apply.lead(this.leadership);
    this.leading = true;
  }

  /** Sessions end; what they had not committed is for the log to apply. */
  private async follow(crash: boolean): Promise<void> {
    const stopped = this.apply.stop();
    if (this.leading) this.startLeader();
    this.leading = false;
    this.uncommitted = [];
    await stopped;
    if (crash) this.database.crash();
    await this.apply.follow(this.database);
  }

  private commitOne(): void {
    const [one] = this.uncommitted.splice(this.random(this.uncommitted.length), 1);
    if (one === undefined) return;
    if (this.apply.clearToCommit(one.slot) !== null) {
      this.uncommitted.push(one);
      return;
    }
    this.database.commitSession(one.slot, one.name);
    this.apply.committed(one.slot);
  }

  async step(): Promise<void> {
    const dice = this.random(23);
    if (dice < 9) this.chooseTransaction();
    else if (dice < 13 && this.uncommitted.length > 0) this.commitOne();
    else if (dice < 14) await this.apply.foldPointer();
    else if (dice < 16) await this.apply.flush();
    else if (dice < 17) this.purgedTo = this.reportedTo;
    else if (dice < 18) await this.lead();
    else if (dice < 19) await this.follow(this.random(2) === 0);
    else if (dice < 20) this.chooseCheck();
    else if (dice < 21) this.chooseConfiguration();
    else if (dice < 22 && this.random(3) === 0) await this.copy();
    else for (let turns = this.random(30); turns > 0; turns--) await Promise.resolve();
  }

  async settle(): Promise<void> {
    for (let wait = 0; this.apply.pointer < this.entries.length && wait < 200; wait++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async run(): Promise<void> {
    await this.apply.follow(this.database);
    for (let step = 0; step < steps && this.trouble.length === 0; step++) await this.step();
    await this.follow(true);
    await this.settle();
    await this.apply.stop();
  }

  /** That of the stored pointer. */
  get configuration(): Configuration | null {
    return this.configurations.findLast(({ slot }) => slot <= this.database.contents.pointer) ?? null;
  }
}

describe('ordered apply in random lives', () => {
  it(`takes in everything chosen, once, with the log purged as far as was reported (${seeds} seeds)`, async () => {
    let checksMet = 0;
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const life = new Life(seed);
      await life.run();
      const replay = `APPLY_SEED=${seed} APPLY_SEEDS=1`;
      const { contents } = life.database;
      expect({ replay, trouble: life.trouble }).toEqual({ replay, trouble: [] });
      expect({ replay, applied: contents.applied.toSorted() }).toEqual({
        replay,
        applied: life.expected.toSorted(),
      });
      const { configuration } = contents.keep;
      expect({ replay, configuration }).toEqual({ replay, configuration: life.configuration });
      checksMet += life.checksMet;
    }
    expect(checksMet).toBeGreaterThan(seeds);
  });
});
