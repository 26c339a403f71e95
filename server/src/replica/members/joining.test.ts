import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { JoinReply, JoinRequest } from '../../ports/control.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { Joining, type Admission } from './joining.ts';
import { addressOf, foundedBy } from '../testing/configurations.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
const admission: Admission = {
  cluster: 'c',
  member: 'r3.2' as ReplicaId,
  configuration: foundedBy([r1, r2, r3]),
  purgedTo: 0 as Slot,
  isNew: false,
};

let time: SimulatedTime;
let up: ReplicaId[];
let sent: (readonly [ReplicaId, JoinRequest])[];
let joining: Joining;
let ended: Promise<Admission | null>;

beforeEach(() => {
  time = new SimulatedTime();
  up = [r1, r2];
  sent = [];
  joining = new Joining({
    self: r3,
    address: addressOf(r3),
    peers: [r1, r2],
    transport: {
      sendControl: (to, message) => {
        if (message.kind === 'JoinRequest') sent.push([to, message]);
      },
      connected: () => up,
    },
    timers: time,
    periodMs: 100,
    onMessage: () => {},
  });
  ended = joining.run();
});
afterEach(() => joining.stop());

const asked = () => sent.map(([to]) => to);
function reply(from: ReplicaId, part: Partial<JoinReply>): void {
  const empty = { kind: 'JoinReply', reason: '', leader: null, admission: null } as const;
  joining.onControl(from, { ...empty, nonce: joining.nonce, code: 'notLeader', ...part });
}

describe('a replica that asks to be let in', () => {
  it('asks each in turn, once a period, under one nonce', async () => {
    await time.pass(350);
    expect(asked()).toEqual([r1, r2, r1, r2]);
    expect(new Set(sent.map(([, { nonce }]) => nonce)).size).toBe(1);
  });

  it('asks nobody who is away', async () => {
    up = [];
    await time.pass(1000);
    expect(asked()).toEqual([r1]);
    expect(joining.message).toMatch(/none of r1, r2 has answered.*barista init/);
  });

  it('goes to the leader that it is told of, and now and then to the others', async () => {
    reply(r1, { leader: r2 });
    await time.pass(600);
    expect(asked().filter((peer) => peer === r2).length).toBeGreaterThanOrEqual(4);
    expect(asked()).toContain(r1);
  });

  it('takes an admission of its own life only', async () => {
    reply(r1, { code: 'admitted', nonce: 'of the life before', admission });
    await time.pass(100);
    expect(sent.length).toBe(2);
    reply(r2, { code: 'admitted', admission });
    expect(await ended).toBe(admission);
    await time.pass(1000);
    expect(sent.length).toBe(2);
  });

  it('ends with nothing when it is stopped', async () => {
    joining.stop();
    expect(await ended).toBeNull();
  });

  it.each([
    [
      { code: 'refused', reason: 'run "barista members add r3"' } as const,
      /r1 refuses: run "barista members add r3"/,
    ],
    [
      { code: 'waiting', reason: 'another change is under way' } as const,
      /r1 says: another change is under way/,
    ],
    [
      { reason: 'The group has lost its majority: r2' },
      /no leader answers. r1 says: The group has lost its majority/,
    ],
  ])('says what it waits for: %j', (part, message) => {
    reply(r1, part);
    expect(joining.message).toMatch(message);
  });

  it('says that nobody has a log when that is so', () => {
    const other = vi.fn<(message: unknown) => void>();
    const peer = new Joining({
      self: r1,
      address: addressOf(r1),
      peers: [r3],
      transport: { sendControl: (_to, message) => other(message), connected: () => [] },
      timers: time,
      onMessage: () => {},
    });
    void peer.run();
    peer.onControl(r3, sent[0]![1]);
    peer.stop();
    joining.onControl(r1, other.mock.calls[0]![0] as JoinReply);
    expect(joining.message).toMatch(
      /r1 has no log either.*barista init.*lost its majority.*barista restore/s,
    );
  });
});
