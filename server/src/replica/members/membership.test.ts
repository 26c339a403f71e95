import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Configuration, ConfigurationChange, Member } from '../../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { systemClock } from '../../adapters/system-clock.ts';
import type { ControlMessage, JoinReply } from '../../ports/control.ts';
import type { Peer } from '../../ports/transport.ts';
import { Membership } from './membership.ts';
import { addressOf, foundedBy } from '../testing/configurations.ts';

const [r1, r2, r3, r4] = ['r1', 'r2', 'r3', 'r4'] as [ReplicaId, ReplicaId, ReplicaId, ReplicaId];
const founded = foundedBy([r1, r2, r3]);

let peers: readonly Peer[];
let sent: (readonly [ReplicaId, ControlMessage])[];
let asked: (readonly [number, ConfigurationChange])[];
let removed: string[];
let serving: boolean;
let nowMs: number;
let membership: Membership;

beforeEach(() => {
  peers = [];
  sent = [];
  asked = [];
  removed = [];
  serving = true;
  nowMs = 0;
  membership = create(founded);
});

function create(configuration: Configuration): Membership {
  return new Membership({
    member: r1,
    cluster: 'c',
    configuration,
    transport: {
      setPeers: (next) => {
        peers = next;
      },
      sendControl: (to, message) => sent.push([to, message]),
    },
    reconfigure: (id, change) => asked.push([id, change]),
    leadership: () => ({ serving, leader: serving ? r1 : null }),
    purgedTo: () => 7 as Slot,
    timers: { ...systemClock, nowMs: () => nowMs },
    logger: pino({ level: 'silent' }),
    onRemoved: (why) => removed.push(why),
  });
}

const join = (replica: ReplicaId, nonce = 'n') =>
  membership.onJoinRequest({ kind: 'JoinRequest', replica, nonce, address: addressOf(replica) });
const settled = () => new Promise((resolve) => setImmediate(resolve));
const replies = () => sent.map(([to, message]) => [to, (message as JoinReply).code]);

function next(before: Configuration, members: readonly Member[]): Configuration {
  return { version: before.version + 1, slot: (before.slot + 5) as Slot, members };
}

function replaced(before: Configuration, replica: ReplicaId, nonce: string): Configuration {
  const members = before.members.map((member) =>
    member.replica === replica
      ? ({ ...member, incarnation: member.incarnation + 1, role: 'learner', nonce } as const)
      : member,
  );
  return next(before, members);
}

describe('a leader that is asked to let a replica in', () => {
  it('says that it is admitted only when that is chosen', async () => {
    join(r2);
    expect(asked).toEqual([[1, { kind: 'join', replica: r2, nonce: 'n', address: addressOf(r2) }]]);
    membership.onReconfigured({ kind: 'reconfigured', id: 1, code: 'proposed' });
    await settled();
    const configuration = replaced(founded, r2, 'n');
    membership.onConfiguration({
      kind: 'configuration',
      configuration: founded,
      pending: configuration.members,
    });
    expect(replies()).toEqual([[r2, 'waiting']]);
    membership.onConfiguration({ kind: 'configuration', configuration, pending: null });
    expect(replies().at(-1)).toEqual([r2, 'admitted']);
    expect((sent.at(-1)![1] as JoinReply).admission).toEqual({
      cluster: 'c',
      member: 'r2.2',
      configuration,
      purgedTo: 7,
      isNew: false,
    });
  });

  it('tells a replica that was added from one that has lost its disk', () => {
    const expected: Member = { ...foundedBy([r4]).members[0]!, incarnation: 0, role: 'learner', nonce: '2' };
    const added = next(founded, [...founded.members, expected]);
    const admitted = (before: Configuration, replica: ReplicaId, incarnation: number, nonce: string) => {
      const members = before.members.map((member) =>
        member.replica === replica ? { ...member, incarnation, nonce } : member,
      );
      const configuration = next(before, members);
      membership.onConfiguration({ kind: 'configuration', configuration, pending: null });
      join(replica, nonce);
      const { code, admission } = sent.at(-1)![1] as JoinReply;
      return { configuration, told: [code, admission?.member, admission?.isNew] };
    };
    membership.onConfiguration({ kind: 'configuration', configuration: added, pending: null });
    const first = admitted(added, r4, 2, 'first');
    expect(first.told).toEqual(['admitted', 'r4.2', true]);
    const promoted = next(first.configuration, first.configuration.members);
    membership.onConfiguration({ kind: 'configuration', configuration: promoted, pending: null });
    join(r4, 'first');
    expect((sent.at(-1)![1] as JoinReply).admission?.isNew).toBe(true);
    const second = admitted(promoted, r4, 3, 'second');
    expect(second.told).toEqual(['admitted', 'r4.3', false]);
    expect(admitted(second.configuration, r2, 2, 'wiped').told).toEqual(['admitted', 'r2.2', false]);
  });

  it('admits the life that asks, not the one before it', async () => {
    membership.onConfiguration({
      kind: 'configuration',
      configuration: replaced(founded, r2, 'before'),
      pending: null,
    });
    join(r2, 'now');
    expect(asked).toHaveLength(1);
    expect(sent).toEqual([]);
    join(r2, 'before');
    await settled();
    expect(replies()).toEqual([[r2, 'admitted']]);
  });

  it.each([
    ['busy', 'waiting'],
    ['wouldLoseQuorum', 'waiting'],
    ['unknownReplica', 'refused'],
    ['notLeader', 'notLeader'],
  ] as const)('answers what the core says: %s', async (code, answer) => {
    join(r4);
    membership.onReconfigured({ kind: 'reconfigured', id: 1, code });
    await settled();
    expect(replies()).toEqual([[r4, answer]]);
  });

  it.each([
    ['of its peers', { ...addressOf(r2), host: '10.0.0.256' }],
    ['of its clients', { ...addressOf(r2), pgwire: { host: '[::1]', port: 1 } }],
  ])('refuses one whose address is none, and proposes nothing: %s', (_, address) => {
    membership.onJoinRequest({ kind: 'JoinRequest', replica: r2, nonce: 'n', address });
    expect(asked).toEqual([]);
    expect(sent).toMatchObject([[r2, { code: 'refused', reason: expect.stringContaining('is no host') }]]);
  });
});

describe('a replica that does not lead', () => {
  it('names the leader, and admits nobody', () => {
    serving = false;
    join(r2);
    expect(asked).toEqual([]);
    expect(replies()).toEqual([[r2, 'notLeader']]);
  });

  it('admits nobody whom it knows to be let in, either: what it would tell may be old', () => {
    serving = false;
    const configuration = replaced(founded, r2, 'n');
    membership.onConfiguration({ kind: 'configuration', configuration, pending: null });
    join(r2);
    expect(replies()).toEqual([[r2, 'notLeader']]);
  });

  it('says that the majority is lost while most voters ask to be let in', () => {
    serving = false;
    join(r2);
    expect(membership.lostMajority()).toBeNull();
    join(r3);
    expect(membership.lostMajority()).toMatch(/lost its majority: r2, r3/);
    nowMs += 60_000;
    expect(membership.lostMajority()).toBeNull();
  });
});

describe('the members', () => {
  it('are reached as soon as they are proposed, and no longer once they are gone', () => {
    expect(peers.map(({ replica }) => replica)).toEqual([r1, r2, r3]);
    const [fourth] = foundedBy([r4]).members;
    const grown = next(founded, [...founded.members, fourth!]);
    membership.onConfiguration({ kind: 'configuration', configuration: founded, pending: grown.members });
    expect(peers.map(({ replica }) => replica)).toEqual([r1, r2, r3, r4]);
    const shrunk = next(grown, grown.members.slice(2));
    membership.onConfiguration({ kind: 'configuration', configuration: shrunk, pending: null });
    expect(peers.map(({ replica }) => replica)).toEqual([r3, r4]);
  });

  it('are this replica no more when another life has taken its place', () => {
    membership.onConfiguration({
      kind: 'configuration',
      configuration: replaced(founded, r1, 'x'),
      pending: null,
    });
    expect(removed).toEqual([expect.stringMatching(/r1\.2 has taken the place of r1/)]);
    expect(create(next(founded, founded.members.slice(1))).removed).toMatch(/removed from the group/);
  });

  it('are changed when it is chosen, not when it is proposed', async () => {
    const change = membership.change({ kind: 'add', replica: r4, address: addressOf(r4) });
    membership.onReconfigured({ kind: 'reconfigured', id: 1, code: 'proposed' });
    let outcome: string | null = null;
    void change.then((code) => {
      outcome = code;
    });
    await settled();
    expect(outcome).toBeNull();
    const [fourth] = foundedBy([r4]).members;
    const configuration = next(founded, [...founded.members, fourth!]);
    membership.onConfiguration({ kind: 'configuration', configuration, pending: null });
    expect(await change).toBe('done');
  });
});
