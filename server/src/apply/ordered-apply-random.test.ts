/**
 * Random lives of one replica's database: it follows and leads, its PostgreSQL crashes and forgets, the log is purged as far as was
 * reported, and sessions commit late, out of order or never. At the end everything chosen is in, once.
 */
import { describe, expect, it } from 'vitest';
import type { Entry, GroupId, ReplicaId, Slot } from '../multipaxos/types.ts';
import { createOrderedApply } from './ordered-apply.ts';
import { encodePayload } from './payload.ts';
import { MemoryDatabase } from './testing/memory-database.ts';

const group = 'g' as GroupId;
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

class Life {
  readonly entries: Entry[] = [];
  readonly expected: string[] = [];
  readonly database = new MemoryDatabase();
  readonly trouble: string[] = [];
  purgedTo = 0;
  leading = false;
  private leadership = { round: 1, replica: 'r1' as ReplicaId };
  /** Parts chosen so far of the transaction that is under way. */
  private open: { readonly id: string; readonly slots: Slot[] } | null = null;
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
  });

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
    } else open.slots.push(this.choose(this.entry(open.id, open.slots.length, false, [])));
  }

  private chooseLast(id: string, partSlots: readonly Slot[]): void {
    const name = `${id}#${partSlots.length}`;
    this.expected.push(name);
    const slot = this.choose(this.entry(id, partSlots.length, true, partSlots));
    if (this.leading) this.uncommitted.push({ slot, name });
  }

  private entry(id: string, part: number, last: boolean, partSlots: readonly Slot[]): Entry {
    const { leadership } = this;
    const payload = { transaction: id, part, last, partSlots, leadership, effects: [], sql: [] };
    const proposal = { client: id, request: part };
    return { kind: 'command', group, proposal, payload: encodePayload(payload) };
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
    this.apply.lead();
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
    this.database.commitSession(one.slot, one.name);
    this.apply.committed(one.slot);
  }

  async step(): Promise<void> {
    const dice = this.random(20);
    if (dice < 9) this.chooseTransaction();
    else if (dice < 13 && this.uncommitted.length > 0) this.commitOne();
    else if (dice < 14) await this.apply.foldPointer();
    else if (dice < 16) await this.apply.flush();
    else if (dice < 17) this.purgedTo = this.reportedTo;
    else if (dice < 18) await this.lead();
    else if (dice < 19) await this.follow(this.random(2) === 0);
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
}

describe('ordered apply in random lives', () => {
  it(`takes in everything chosen, once, with the log purged as far as was reported (${seeds} seeds)`, async () => {
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
    }
  });
});
