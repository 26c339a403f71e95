import { describe, expect, it } from 'vitest';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ProposeResult } from '../payload.ts';
import { encodeOperation, type Operation } from './operation.ts';
import { StatementsPayload } from './statements-payload.ts';
import { ModelExecutor } from './testing/model-executor.ts';

const group = 'g' as GroupId;
const ballot: Ballot = { round: 1, replica: 'r1' as ReplicaId };
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
  let commitPoint = 0;
  let answer: ProposeResult = { code: 'proposed', label: 'c/1' };
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
      propose: () => answer,
      ready: ({ round }) => told.push(`ready ${round}`),
      unready: () => told.push('unready'),
    },
    onCopyNeeded: (reason) => told.push(`copy ${reason}`),
    onDigest: (slot, digest) => told.push(`digest ${slot} ${digest}`),
  });
  executor.listener = payload;
  return {
    executor,
    payload,
    told,
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
    refuse: (code: 'notLeader' | 'windowFull') => {
      answer = { code };
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
    expect(told).toContain('digest 3 d3');
    await payload.stop();
  });

  it('who submits is given the result of this replica, whoever has proposed it', async () => {
    const { payload, choose } = setUp();
    payload.start();
    const own = payload.submit(request(1));
    const other = payload.await(request(1));
    choose([command(request(1), 1)]);
    const results = await Promise.all([own, other]);
    expect(results.map((result) => result.code === 'done' && result.result.answer.toString())).toEqual([
      'request 1',
      'request 1',
    ]);
    await payload.stop();
  });

  it('what has no slot is told at once, and what may have one when leadership ends', async () => {
    const { payload, refuse } = setUp();
    payload.start();
    const open = payload.submit(request(1));
    const control = new AbortController();
    const patient = payload.submit(request(2), control.signal);
    control.abort();
    expect(await patient).toEqual({ code: 'unknown' });
    payload.follow();
    expect(await open).toEqual({ code: 'unknown' });
    refuse('windowFull');
    expect(await payload.submit(request(1))).toEqual({ code: 'windowFull' });
    await payload.stop();
  });

  it('a leader serves when it has executed what was chosen before', async () => {
    const { payload, choose, told, executor } = setUp();
    let open = (): void => undefined;
    executor.gate = new Promise((resolve) => {
      open = resolve;
    });
    choose([command(request(1), 1)]);
    payload.start();
    payload.lead(ballot);
    await turn();
    expect(told).not.toContain('ready 1');
    open();
    await turn();
    expect(told.filter((line) => line === 'ready 1')).toHaveLength(1);
    await payload.stop();
    expect(told.at(-1)).toBe('unready');
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

  it('an entry that cannot be read ends the process', async () => {
    const { payload, choose, told } = setUp();
    payload.start();
    const proposal = { client: 'c', request: 1 };
    choose([{ kind: 'command', group, proposal, payload: Buffer.from([9, 9]) }]);
    await turn();
    expect(told.at(-1)).toBe('fatal the entry c/1 cannot be read');
  });
});
