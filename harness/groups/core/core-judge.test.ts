/** What the judge of cores notices, each from the least that shows it. */
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { ballotNone } from '../../../server/src/multipaxos/ballot.ts';
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import { addressOf } from '../../../server/src/replica/testing/configurations.ts';
import type { MemoryGroup } from '../../../server/src/replica/testing/memory-group.ts';
import type { MemoryMember } from '../../../server/src/replica/testing/memory-member.ts';
import { CoreJudge } from './core-judge.ts';

const all = ['r1', 'r2', 'r3'] as ReplicaId[];
const [r1, r2, r3] = all as [ReplicaId, ReplicaId, ReplicaId];
const group = 'g' as GroupId;
const ballot = (round: number, replica: ReplicaId): Ballot => ({ round, replica });
const first = ballot(1, r1);
const second = ballot(2, r2);

function configuration(version: number, slot: number, voters: readonly ReplicaId[]): Configuration {
  const members = voters.map((replica) => ({
    replica,
    incarnation: 1,
    role: 'voter' as const,
    nonce: `of ${replica}`,
    address: addressOf(replica),
  }));
  return { version, slot: slot as Slot, members };
}

const founding = configuration(1, 0, all);

const log: RecoveredLog = {
  promised: ballotNone,
  commitPoint: 0 as Slot,
  purgedTo: 0 as Slot,
  configuration: founding,
  tail: [],
};

function command(request: number): Entry {
  return { kind: 'command', group, proposal: { client: 'c', request }, payload: new Uint8Array(1) };
}

function vote(slot: number, of: Ballot, entry: Entry): LogRecord {
  return { kind: 'vote', slot: slot as Slot, ballot: of, entry };
}

function members(version: number, voters: readonly ReplicaId[]): Entry {
  return {
    kind: 'configuration',
    group,
    ballot: first,
    version,
    members: configuration(version, 0, voters).members,
  };
}

/** A group of three that was just founded, whose databases have everything up to slot 5. */
class Seen {
  readonly told: string[] = [];
  readonly judge: CoreJudge;
  readonly database = { state: { position: { slot: 5 } } };

  constructor() {
    const machine = {
      postgres: { disk: this.database },
      process: { assembled: { payload: { pointer: 0 } } },
    } as unknown as MemoryMember;
    this.judge = new CoreJudge(
      () => machine,
      (what) => this.told.push(what.split(':')[0]!),
    );
    for (const replica of all) this.judge.logOpens(replica, log, true);
  }

  durable(replicas: readonly ReplicaId[], ...records: readonly LogRecord[]): this {
    for (const replica of replicas) this.judge.areDurable(replica, records);
    return this;
  }

  choose(slot: number, request: number): this {
    return this.durable([r1, r2], vote(slot, first, command(request)));
  }

  sends(from: ReplicaId, message: object): this {
    this.judge.sends(from, r3, { group, ...message } as unknown as Message);
    return this;
  }

  event(replica: ReplicaId, name: string, state: object, more: object = {}): this {
    const snapshot = { promised: first, ballot: first, commitPoint: 0, ...state };
    this.judge.event({
      layer: 'consensus',
      replica,
      name,
      state: snapshot,
      ...more,
    } as unknown as TraceEvent);
    return this;
  }
}

const promise = (of: Ballot, votes: readonly object[] = []): object => ({
  kind: 'Promise',
  ballot: of,
  commitPoint: 0,
  votes,
  configuration: founding,
});

describe('the judge of cores notices', () => {
  it('nothing while a majority decides', () => {
    const seen = new Seen().durable([r1, r2], { kind: 'promise', ballot: first });
    seen
      .event(r1, 'BecomeLeader', {})
      .choose(1, 1)
      .durable([r3], { kind: 'commitPoint', slot: 1 as Slot });
    seen.sends(r2, { kind: 'Accepted', ballot: first, firstSlot: 1, lastSlot: 1, commitPoint: 0 });
    seen.event(r1, 'AdvanceCommitPoint', { commitPoint: 1 }, { votes: [[1, first, 'c/1']] });
    expect(seen.told).toEqual([]);
  });

  it('two entries that are chosen in one slot', () => {
    const seen = new Seen().choose(1, 1).durable([r2], vote(1, second, command(2)));
    expect(seen.told).toEqual([]);
    expect(seen.durable([r3], vote(1, second, command(2))).told).toEqual(['Agreement']);
  });

  it('votes of different ballots that are taken for a majority, and whatever else is not chosen', () => {
    const seen = () =>
      new Seen().durable([r1], vote(1, first, command(1))).durable([r2], vote(1, second, command(1)));
    const slot = 1 as Slot;
    expect(seen().durable([r1], { kind: 'commitPoint', slot }).told).toEqual(['OnlyChosenIsTaken']);
    expect(seen().sends(r1, { kind: 'Heartbeat', ballot: first, commitPoint: 1 }).told).toHaveLength(1);
    expect(seen().event(r1, 'AdvanceCommitPoint', { commitPoint: 1 }).told).toHaveLength(1);
    const learnt: LogRecord = { kind: 'chosen', slot, entry: command(2) };
    expect(new Seen().choose(1, 1).durable([r3], learnt).told).toEqual(['OnlyChosenIsTaken']);
    const other = new Seen().choose(1, 1).event(r3, 'HandleAccept', {}, { votes: [[1, first, 'c/2']] });
    expect(other.event(r3, 'HandleHeartbeat', { commitPoint: 1 }).told).toEqual(['OnlyChosenIsTaken']);
  });

  it('what is told before it is durable', () => {
    expect(new Seen().sends(r2, promise(second)).told).toEqual(['RevealedIsDurable']);
    const accepted = { kind: 'Accepted', ballot: first, firstSlot: 1, lastSlot: 2, commitPoint: 0 };
    const seen = new Seen().durable([r2], vote(1, first, command(1))).sends(r2, accepted);
    expect(seen.told).toEqual(['RevealedIsDurable']);
  });

  it('a vote below a promise', () => {
    const seen = new Seen().durable([r2], { kind: 'promise', ballot: second }).sends(r2, promise(second));
    expect(seen.durable([r2], vote(1, first, command(1))).told).toEqual(['PromiseKept']);
  });

  it('a promise that is silent of a vote', () => {
    const seen = () =>
      new Seen().durable([r3], vote(1, first, command(1)), { kind: 'promise', ballot: second });
    expect(seen().sends(r3, promise(second)).told).toEqual(['PromiseTellsVotes']);
    expect(seen().sends(r3, promise(second, [{ slot: 1, ballot: first }])).told).toEqual([]);
    const asked = seen().sends(r2, { kind: 'Prepare', ballot: second, commitPoint: 1 });
    expect(asked.sends(r3, promise(second)).told).not.toContain('PromiseTellsVotes');
  });

  it('a log that has forgotten something, and a core that begins with less than its log', () => {
    const tail = [{ slot: 1 as Slot, ballot: first, entry: command(1) }];
    const seen = () => new Seen().durable([r2], vote(1, first, command(1)));
    const opened = (recovered: RecoveredLog): Seen => {
      const again = seen();
      again.judge.logOpens(r2, recovered, false);
      return again;
    };
    expect(opened({ ...log, promised: first, tail }).told).toEqual([]);
    expect(opened({ ...log, promised: first }).told).toEqual(['RestartKnowsAll']);
    expect(opened({ ...log, tail }).told).toEqual(['RestartKnowsAll']);
    const whole = opened({ ...log, promised: first, tail });
    expect(whole.event(r2, 'Restart', {}, { votes: [[1, first, 'c/1']] }).told).toEqual([]);
    expect(whole.event(r2, 'Restart', { promised: ballotNone }).told).toEqual([
      'RestartKnowsAll',
      'RestartKnowsAll',
    ]);
  });

  it('votes that only a crash has left count', () => {
    const seen = new Seen().durable([r1], vote(1, first, command(1)));
    const tail = [{ slot: 1 as Slot, ballot: first, entry: command(1) }];
    seen.judge.logOpens(r2, { ...log, promised: first, tail }, false);
    expect(seen.event(r1, 'AdvanceCommitPoint', { commitPoint: 1 }).told).toEqual([]);
  });

  it('a leader whom no majority has promised anything, of the members of its time', () => {
    const promised: LogRecord = { kind: 'promise', ballot: second };
    expect(new Seen().durable([r2], promised).event(r2, 'BecomeLeader', { ballot: second }).told).toEqual([
      'ElectedByMajority',
    ]);
    const without = new Seen().durable([r1, r2], vote(1, first, members(2, [r1, r2])));
    expect(without.durable([r2, r3], promised).event(r2, 'BecomeLeader', { ballot: second }).told).toEqual([
      'ElectedByMajority',
    ]);
  });

  it('a leader that serves and has not applied what was chosen before', () => {
    expect(new Seen().choose(1, 1).event(r2, 'Serve', { ballot: second }).told).toEqual([
      'ServesAllThatIsChosen',
    ]);
  });

  it('two leases', () => {
    const holder = (id: ReplicaId, leaseHeld: boolean) => ({
      id,
      process: {
        assembled: { core: { leaseHeld: () => leaseHeld, snapshot: () => ({ lastSlot: 4 }) } },
        timers: { nowMs: () => 0 },
      },
    });
    const look = (...held: readonly boolean[]): readonly string[] => {
      const seen = new Seen();
      const machines = held.map((holds, index) => holder(all[index]!, holds));
      seen.judge.look({ machines } as unknown as MemoryGroup);
      return seen.told;
    };
    expect(look(true, false, false)).toEqual([]);
    expect(look(true, false, true)).toEqual(['OneLeaseHolder']);
  });

  it('a lease behind which something else is chosen', () => {
    const core = { leaseHeld: () => true, snapshot: () => ({ lastSlot: 4 }) };
    const machines = [{ id: r3, process: { assembled: { core }, timers: { nowMs: () => 0 } } }];
    const seen = new Seen();
    const look = (): readonly string[] => {
      seen.judge.look({ machines } as unknown as MemoryGroup);
      return seen.told;
    };
    seen.choose(4, 1);
    expect(look()).toEqual([]);
    seen.choose(5, 2);
    expect(look()).toEqual(['LeaderKnowsWhatIsChosen']);
  });

  it('configurations that do not follow from each other, or that a log does not know', () => {
    const skips = new Seen().durable([r1, r2], vote(1, first, members(3, [r1, r2])));
    expect(skips.told).toEqual(['ConfigurationsFormAChain']);
    const two = new Seen().durable([r1, r2], vote(1, first, members(2, [r1])));
    expect(two.told).toEqual(['ConfigurationsFormAChain']);
    const one = new Seen().durable([r1, r2], vote(1, first, members(2, [r1, r2])));
    expect(one.durable([r3], { kind: 'commitPoint', slot: 1 as Slot }).told).toEqual([
      'ConfigurationIsKnown',
    ]);
  });

  it('a name for two lives', () => {
    const seen = new Seen();
    seen.judge.logOpens(r2, log, true);
    expect(seen.told).toEqual(['OneLifePerIncarnation']);
  });

  it('a log that lets go of what its database has not, and one who says to have it', () => {
    const seen = new Seen();
    seen.judge.letsGo(r1, 5 as Slot);
    expect(seen.told).toEqual([]);
    seen.judge.letsGo(r1, 6 as Slot);
    seen.sends(r2, { kind: 'HeartbeatAck', ballot: first, commitPoint: 0, durableApplicationPointer: 6 });
    expect(seen.told).toEqual(['PurgedIsDurable', 'PurgedIsDurable']);
  });

  it('who says to have what its database has lost, but in a message that waited for a write', () => {
    const ack = { kind: 'HeartbeatAck', ballot: first, commitPoint: 0, durableApplicationPointer: 5 };
    const seen = new Seen();
    seen.judge.writes(r1);
    seen.database.state.position.slot = 3;
    seen.durable([r1]).sends(r1, ack);
    expect(seen.told).toEqual([]);
    seen.judge.letsGo(r1, 4 as Slot);
    expect(seen.told).toEqual(['PurgedIsDurable']);
    seen.judge.look({ machines: [] } as unknown as MemoryGroup);
    seen.sends(r1, ack);
    expect(seen.told).toEqual(['PurgedIsDurable', 'PurgedIsDurable']);
  });
});
