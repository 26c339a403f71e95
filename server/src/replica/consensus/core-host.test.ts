import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryDisk, createMemoryLog, type MemoryDisk } from '../../adapters/memory-log/memory-log.ts';
import { systemClock } from '../../adapters/system-clock.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import { foundedBy } from '../testing/configurations.ts';
import { CoreHost, type CoreListener } from './core-host.ts';
import { eventually } from '../../ports/testing/eventually.ts';

const group = 'g' as GroupId;
const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
const ballot: Ballot = { round: 1, replica: r2 };

const configuration = foundedBy([r1, r2, r3]);

function command(slot: number): Entry {
  const proposal = { client: 'c', request: slot };
  return { kind: 'command', group, proposal, payload: new Uint8Array(100) };
}

function accept(slot: number): Extract<Message, { kind: 'Accept' }> {
  const commitPoint = (slot - 1) as Slot;
  const entries = [command(slot)];
  return { kind: 'Accept', group, ballot, firstSlot: slot as Slot, entries, commitPoint, sentAtMs: slot };
}

describe('the host of the core', () => {
  let host: CoreHost | null = null;
  let disk: MemoryDisk;
  let deliver: (from: ReplicaId, message: Message) => void = () => {};
  let sent: Message[];
  let troubles: (Error | null)[];
  let purged: number[];
  let noted: unknown[];
  let log: LogStore;

  /** `alone`: the only voter, which soon leads. */
  async function start(recordsFree: number, alone = false): Promise<CoreHost> {
    disk = createMemoryDisk(group);
    disk.recordsFree = recordsFree;
    sent = [];
    troubles = [];
    purged = [];
    noted = [];
    const identity = { cluster: 'c', member: r1 };
    log = await createMemoryLog(disk, {
      identity,
      configuration: alone ? foundedBy([r1]) : configuration,
      base: 0 as Slot,
      promised: ballotNone,
    });
    host = new CoreHost({
      config: {
        group,
        id: r1,
        heartbeatMs: 50,
        electionTimeoutMinMs: alone ? 60 : 60_000,
        electionTimeoutMaxMs: alone ? 90 : 90_000,
        leaseMs: alone ? 30 : 30_000,
        clockDriftMax: 0.05,
        retransmitMs: 100,
        windowSlotsMax: 64,
        windowBytesMax: 1 << 20,
        acceptBatchBytesMax: 1 << 16,
        catchUpSlotsMax: 64,
        trace: 'none',
      },
      log: { ...log, append: (records) => log.append(records), purge: (upTo) => log.purge(upTo) },
      transport: {
        send: (_to, message) => sent.push(message),
        onMessage: (handler) => {
          deliver = handler;
        },
        sendControl: () => {},
        onControl: () => {},
        onGone: () => {},
        become: () => {},
        setPeers: () => {},
        connected: () => [r2, r3],
        versionOf: () => null,
        close: () => Promise.resolve(),
      },
      timers: systemClock,
      random: () => 0.5,
      tickMs: 10,
      logRetryMs: 5,
      catchUpBytesMax: 1 << 16,
    });
    const listener: CoreListener = {
      chosen: () => {},
      proposal: () => {},
      leadership: () => {},
      configuration: () => {},
      reconfigured: () => {},
      handOver: () => {},
      disbelieved: () => {},
      trace: () => {},
      traceLease: () => {},
      logIdle: () => {},
      leaderNote: () => null,
      leaderNoted: (ballot, note) => noted.push({ ballot, note }),
      pace: () => null,
      answered: () => {},
      logTrouble: (error) => troubles.push(error),
      purgedByPeer: (_peer, purgedTo) => purged.push(purgedTo),
      purged: () => {},
      fatal: (error) => {
        throw error;
      },
    };
    host.start(listener);
    return host;
  }
  afterEach(() => host?.stop());

  const votes = () => sent.filter(({ kind }) => kind === 'Accepted').length;

  it('takes in nothing more while the log is full, and goes on when there is space', async () => {
    const core = await start(0);
    deliver(r2, accept(1));
    await eventually(() => expect(troubles).toHaveLength(1));
    for (let slot = 2; slot <= 200; slot++) deliver(r2, accept(slot));
    expect(core.snapshot()).toMatchObject({ lastSlot: 1, commitPoint: 0 });
    expect(votes()).toBe(0);
    disk.recordsFree = 1000;
    await eventually(() => expect(troubles.at(-1)).toBeNull());
    for (let slot = 2; slot <= 20; slot++) deliver(r2, accept(slot));
    await eventually(() => expect(votes()).toBe(20));
    expect(core.snapshot()).toMatchObject({ lastSlot: 20, commitPoint: 19 });
  });

  it('takes in as much as there is, as long as the log keeps up', async () => {
    const core = await start(Number.POSITIVE_INFINITY);
    const payload = new Uint8Array(4 << 20);
    // Much more than may be on its way to the log at a time.
    for (let slot = 1; slot <= 40; slot++) {
      deliver(r2, { ...accept(slot), entries: [{ ...command(slot), payload } as Entry] });
      await eventually(() => expect(votes()).toBe(slot));
    }
    expect(core.snapshot().lastSlot).toBe(40);
  });

  it("hears a leader's note, and no other replica's in its name", async () => {
    await start(Number.POSITIVE_INFINITY);
    const heartbeat = {
      kind: 'Heartbeat',
      group,
      ballot,
      commitPoint: 0 as Slot,
      sentAtMs: 1,
      globalApplicationPointer: 0 as Slot,
      configuration,
      note: { serves: true },
    } as const;
    deliver(r3, heartbeat);
    expect(noted).toEqual([]);
    deliver(r2, heartbeat);
    expect(noted).toEqual([{ ballot, note: { serves: true } }]);
  });

  it('takes what is chosen from memory where the log has only an older vote for something else', async () => {
    const core = await start(Number.POSITIVE_INFINITY);
    deliver(r2, accept(1));
    await eventually(() => expect(votes()).toBe(1));
    const real = log;
    let write = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      write = resolve;
    });
    log = { ...log, append: (records) => waits.then(() => real.append(records)) };
    const [slot, chosen] = [1 as Slot, command(77)];
    const next = { ...accept(1), ballot: { round: 2, replica: r3 }, entries: [chosen], commitPoint: slot };
    deliver(r3, next);
    expect(core.commitPoint).toBe(1);
    expect(await real.read(slot, slot, 1000)).toEqual([command(1)]);
    expect(await core.readChosen(slot, slot, 1000)).toEqual([chosen]);
    write();
    await eventually(() => expect(votes()).toBe(2));
    expect(await core.readChosen(slot, slot, 1000)).toEqual([chosen]);
    expect(await core.readChosen(2 as Slot, 2 as Slot, 1000)).toEqual([]);
  });

  it('tries again to purge a log that was full', async () => {
    const core = await start(Number.POSITIVE_INFINITY);
    for (let slot = 1; slot <= 3; slot++) deliver(r2, accept(slot));
    await eventually(() => expect(votes()).toBe(3));
    const real = log;
    let attempts = 0;
    log = {
      ...log,
      purge: (upTo) =>
        ++attempts < 3 ? Promise.reject(new LogStoreError('logFull', 'no space left')) : real.purge(upTo),
    };
    core.input({ kind: 'Applied', slot: 2 as Slot, durableSlot: 2 as Slot });
    core.input({ kind: 'LogPressure', isUrgent: true });
    await eventually(() => expect(log.stats().purgedTo).toBe(2));
    expect(attempts).toBe(3);
    deliver(r2, accept(4));
    await eventually(() => expect(votes()).toBe(4));
  });

  it('says so when a peer has purged what this replica needs next', async () => {
    await start(Number.POSITIVE_INFINITY);
    const reply = {
      kind: 'CatchUpReply',
      group,
      ballot,
      commitPoint: 90 as Slot,
      purgedTo: 50 as Slot,
      configuration,
    } as const;
    deliver(r2, { ...reply, firstSlot: 1 as Slot, entries: [] });
    expect(purged).toEqual([50]);
    deliver(r2, { ...reply, firstSlot: 1 as Slot, entries: [command(1)] });
    expect(purged).toEqual([50]);
  });

  it('says nothing of what a peer has purged while it leads and serves: it needs nothing', async () => {
    const core = await start(Number.POSITIVE_INFINITY, true);
    await eventually(() => expect(core.commitPoint).toBe(1));
    const reply = { kind: 'CatchUpReply', group, ballot, firstSlot: 2 as Slot, entries: [] } as const;
    const message = { ...reply, commitPoint: 90 as Slot, purgedTo: 50 as Slot, configuration };
    core.input({ kind: 'Applied', slot: 1 as Slot, durableSlot: 1 as Slot });
    expect(core.snapshot()).toMatchObject({ role: 'leader', serving: true });
    deliver(r2, message);
    expect(purged).toEqual([]);
    core.input({ kind: 'StepDown', reason: 'requested' });
    deliver(r2, message);
    expect(purged).toEqual([50]);
  });
});
