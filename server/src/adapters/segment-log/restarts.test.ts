/** Processes that are killed, and machines that fail, one after another: what a log has told once, when it was opened, it tells again. */
import { expect, it } from 'vitest';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { ballotOf, group, newLogOf, slotOf } from '../../ports/testing/log-store-contract.ts';
import { Random } from '../../ports/testing/random.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { createSegmentLogOn, openSegmentLogOn, type SegmentLogOptions } from './segment-log-on.ts';
import { commandOf } from './testing/records.ts';
import { SimulatedDisk } from './testing/simulated-disk.ts';
import { segmentBytes } from './testing/small-segments.ts';

const options: SegmentLogOptions = {
  group,
  segmentBytes,
  startIdleTimer: () => ({ refresh: () => undefined, stop: () => undefined }),
};

interface Told {
  readonly rest: unknown;
  readonly votes: readonly string[];
}

function told({ recovered }: LogStore): Told {
  const { tail, ...rest } = recovered;
  return { rest, votes: tail.map(describe) };
}

/** Its slot and what it is for, as its bytes tell. */
function describe({ slot, entry }: { readonly slot: Slot; readonly entry: Entry }): string {
  if (entry.kind !== 'command') throw new Error(`slot ${slot} holds a ${entry.kind}`);
  return `${slot}: ${entry.payload.length} of ${[...new Set(entry.payload)].join()}`;
}

class Machine {
  readonly time = new SimulatedTime();
  readonly random: Random;
  readonly disk: SimulatedDisk;
  private slot = 0;
  private isSlow = false;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.disk = new SimulatedDisk({ random: this.random });
  }

  private directory() {
    return this.disk.open(this.time, () => this.isSlow);
  }

  async make(): Promise<void> {
    const log = await createSegmentLogOn(this.directory(), options, newLogOf());
    await log.append([{ kind: 'promise', ballot: ballotOf(1) }]);
    await log.close();
  }

  open(): Promise<LogStore> {
    this.isSlow = false;
    return openSegmentLogOn(this.directory(), options);
  }

  /** Votes of every size, until a segment or so is full and a write is under way. */
  async write(log: LogStore): Promise<void> {
    this.isSlow = true;
    const endMs = this.random.next() * 12;
    const write = async (): Promise<void> => {
      for (;;) await log.append([this.vote(), this.vote()]);
    };
    write().catch(() => undefined);
    await this.time.pass(endMs);
  }

  vote(): Extract<LogRecord, { kind: 'vote' }> {
    this.slot += 1;
    const entry = commandOf(this.slot, new Uint8Array(this.random.below(3000)).fill(this.slot % 256));
    return { kind: 'vote', slot: slotOf(this.slot), ballot: ballotOf(1), entry };
  }
}

it('keeps what it has told, and what was acknowledged since, whatever was in the cache only', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const machine = new Machine(seed);
    await machine.make();
    for (let life = 0; life < 3; life++) {
      await machine.write(await machine.open());
      machine.disk.crashProcess();
      const log = await machine.open();
      const { rest, votes } = told(log);
      const vote = machine.vote();
      await log.append([vote]);
      machine.disk.crashMachine();
      const found = told(await machine.open());
      expect({ seed, life, ...found }).toEqual({ seed, life, rest, votes: [...votes, describe(vote)] });
    }
  }
});
