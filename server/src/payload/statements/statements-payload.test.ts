import { describe, expect, it } from 'vitest';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import { encodeOperation, type Operation } from './operation.ts';
import { StatementsPayload } from './statements-payload.ts';
import { ModelExecutor } from './testing/model-executor.ts';

const group = 'g' as GroupId;
const session = 'ab'.repeat(16);

function request(seq: number): Operation {
  const bytes = Buffer.from(`request ${seq}`);
  return { kind: 'request', session, seq, what: 'execute', bytes, clockUs: 1, seed: Buffer.alloc(16) };
}

function command(operation: Operation, number: number): Entry {
  return {
    kind: 'command',
    group,
    proposal: { client: 'c', request: number },
    payload: encodeOperation(operation),
  };
}

function setUp() {
  const executor = new ModelExecutor();
  const log: Entry[] = [];
  const told: string[] = [];
  const claims = new Set<string>();
  let commitPoint = 0;
  let purgedTo = 0;
  const payload = new StatementsPayload({
    executor,
    log: {
      read: (from, to) => Promise.resolve(from <= purgedTo ? [] : log.slice(from - 1, to)),
    },
    host: {
      applied: (slot, durable) => told.push(`applied ${slot} ${durable}`),
      commitPoint: () => commitPoint as Slot,
      copyAwaited: () => told.push('copyAwaited'),
      fatal: (error) => told.push(`fatal ${error.message}`),
    },
    onCopyNeeded: (reason) => told.push(`copy ${reason}`),
    onBegun: () => undefined,
    claimed: {
      holds: (name) => Promise.resolve(claims.has(name)),
      adopted: (slot) => Promise.resolve(void told.push(`adopted ${slot}`)),
      standing: (slot, reason) => told.push(`standing ${slot} ${reason}`),
      passedOver: () => told.push('passed over'),
    },
  });
  return {
    executor,
    payload,
    told,
    claims,
    /** `hands`: the payload is handed the entries, else it finds them in the log. */
    choose: (entries: readonly Entry[], hands = true): void => {
      const items: SlotEntry[] = entries.map((entry, index) => ({
        slot: (log.length + 1 + index) as Slot,
        entry,
      }));
      log.push(...entries);
      commitPoint = log.length;
      payload.chosen(hands ? items : items.slice(0, 0));
    },
    purge: (slot: number) => {
      purgedTo = slot;
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('statements as payload', () => {
  it('each chosen slot is executed once and in order, what is no operation, too', async () => {
    const { payload, executor, choose, told } = setUp();
    payload.start();
    choose([{ kind: 'noop', group }, command(request(1), 1)]);
    await turn();
    choose([command(request(2), 2)], false);
    await turn();
    expect(executor.executed).toEqual([
      [1, null],
      [2, request(1)],
      [3, request(2)],
    ]);
    expect(told).toContain('applied 3 0');
    await payload.stop();
  });

  it('a database that is not exact, or behind the log, waits for a copy and executes nothing', async () => {
    const inexact = setUp();
    inexact.executor.outcome = { code: 'inexact', pointer: 4 as Slot, reason: 'sequences' };
    inexact.payload.start();
    inexact.choose([command(request(1), 1)]);
    await turn();
    expect(inexact.told).toEqual(['copyAwaited', 'copy sequences']);
    expect(inexact.executor.executed).toEqual([]);
    const behind = setUp();
    behind.purge(1);
    behind.choose([command(request(1), 1), command(request(2), 2)], false);
    behind.payload.start();
    await turn();
    expect(behind.told).toEqual(['applied 0 0', 'copyAwaited', 'copy logPurged']);
  });

  it('the end of the database is noticed though nothing is to be executed, and not once it is stopped', async () => {
    const idle = setUp();
    idle.payload.start();
    await turn();
    idle.payload.databaseEnded('PostgreSQL ended (SIGKILL)');
    await turn();
    expect(idle.told.at(-1)).toBe('fatal PostgreSQL ended (SIGKILL)');
    const stopped = setUp();
    stopped.payload.start();
    await turn();
    const stopping = stopped.payload.stop();
    stopped.payload.databaseEnded('PostgreSQL ended');
    await stopping;
    expect(stopped.told).not.toContain('fatal PostgreSQL ended');
  });

  it('behind an adoption a database goes on that holds the claim, and another one stands still ahead of it', async () => {
    const adopt = (digit: string): Operation => ({ kind: 'adopt', name: digit.repeat(32), replica: 'r1' });
    const { payload, executor, choose, claims, told } = setUp();
    claims.add('a'.repeat(32));
    payload.start();
    choose([command(adopt('a'), 1), command(request(1), 2)]);
    await turn();
    expect(told).toContain('adopted 1');
    expect(executor.pointer).toBe(2);
    choose([command(adopt('b'), 3), command(request(2), 4)]);
    await turn();
    expect(told).toContain('standing 3 adopted');
    expect(executor.pointer).toBe(2);
    // What comes last counts: the database that had the other claim was lost.
    claims.add('c'.repeat(32));
    choose([command(adopt('c'), 5)]);
    await turn();
    expect(told).toContain('adopted 5');
    expect(told).toContain('passed over');
    expect(executor.pointer).toBe(5);
    choose([command(adopt('d'), 6)]);
    await turn();
    payload.databaseEnded('PostgreSQL ended');
    await turn();
    expect(told.at(-1)).toBe('fatal PostgreSQL ended');
    await payload.stop();
  });

  it('stands still ahead of a request of a session that could not be opened again, until one database goes on for all', async () => {
    const { payload, executor, choose, claims, told } = setUp();
    executor.lost.add(session);
    payload.start();
    choose([{ kind: 'noop', group }, command(request(1), 1), { kind: 'noop', group }]);
    await turn();
    expect(told).toContain('standing 2 sessions');
    expect(executor.pointer).toBe(1);
    claims.add('a'.repeat(32));
    choose([command({ kind: 'adopt', name: 'a'.repeat(32), replica: 'r1' }, 2)]);
    await turn();
    expect(executor.pointer).toBe(4);
    await payload.stop();
  });

  it('an entry that cannot be read ends the process', async () => {
    const { payload, choose, told } = setUp();
    payload.start();
    const proposal = { client: 'c', request: 1 };
    choose([{ kind: 'command', group, proposal, payload: Buffer.from([9, 9]) }]);
    await turn();
    expect(told.at(-1)).toBe('fatal the entry c/1 cannot be read');
  });
});
