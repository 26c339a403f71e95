import { describe, expect, it } from 'vitest';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Accept, Message } from '../../multipaxos/types/messages.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { fiveReplicas, foundedBy } from '../testing/configurations.ts';
import { EagerQuorum } from './eager-quorum.ts';

const group = 'g' as GroupId;
const [r1, r2, r3, r4, r5] = fiveReplicas;
const ballot: Ballot = { round: 1, replica: r1 };

function accept(slot: number, bytes = 10): Accept {
  const proposal = { client: 'c', request: slot };
  const entries = [{ kind: 'command', group, proposal, payload: new Uint8Array(bytes) }] as const;
  return {
    kind: 'Accept',
    group,
    ballot,
    firstSlot: slot as Slot,
    entries,
    commitPoint: 0 as Slot,
    sentAtMs: 0,
  };
}

/** The slots that votes are asked for, or what else it is. */
function told(message: Message): string {
  if (message.kind !== 'Accept') return message.kind;
  const { firstSlot, entries } = message;
  return entries.length === 1 ? String(firstSlot) : `${firstSlot}-${firstSlot + entries.length - 1}`;
}

function setUp(
  members: readonly ReplicaId[] = [r1, r2, r3],
  onSent: (to: ReplicaId, message: Message) => void = () => undefined,
) {
  const time = new SimulatedTime();
  const sent: string[] = [];
  const quorum = new EagerQuorum({
    self: r1,
    send: (to, message) => {
      sent.push(`${to} ${told(message)}`);
      onSent(to, message);
    },
    timers: time,
    delayMs: 10,
    silentMs: 50,
    waitingBytesMax: 1000,
  });
  quorum.configure(foundedBy(members));
  const peers = members.filter((member) => member !== r1);
  const ask = (slot: number, bytes?: number): void => {
    for (const peer of peers) quorum.send(peer, accept(slot, bytes));
  };
  const take = (): string[] => sent.splice(0);
  const votes = (from: ReplicaId, slot: number): void => quorum.accepted(from, slot as Slot);
  return { time, quorum, ask, take, votes };
}

describe('who is asked for votes at once', () => {
  it('is everybody until a quorum has answered, and then those who were first', async () => {
    const { time, ask, take, votes } = setUp();
    ask(1);
    expect(take()).toEqual(['r2 1', 'r3 1']);
    votes(r3, 1);
    ask(2);
    ask(3);
    expect(take()).toEqual(['r3 2', 'r3 3']);
    await time.pass(9);
    expect(take()).toEqual([]);
    await time.pass(2);
    expect(take()).toEqual(['r2 2-3']);
  });

  it('are two of five replicas', () => {
    const { ask, take, votes } = setUp([r1, r2, r3, r4, r5]);
    ask(1);
    votes(r4, 1);
    expect(take()).toHaveLength(4);
    ask(2);
    expect(take()).toHaveLength(4);
    votes(r2, 1);
    ask(3);
    expect(take()).toEqual(['r2 3', 'r4 3']);
  });

  it('is everybody again when the first ones say nothing', async () => {
    const { time, ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    for (let slot = 2; slot <= 6; slot++) {
      ask(slot);
      await time.pass(15);
    }
    take();
    ask(7);
    expect(take()).toEqual(['r2 7', 'r3 7']);
    votes(r2, 7);
    ask(8);
    expect(take()).toEqual(['r2 8']);
  });

  it('stays the same while answers come, however late', async () => {
    const { time, ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    for (let slot = 2; slot <= 30; slot++) {
      ask(slot);
      await time.pass(15);
      votes(r3, slot - 1);
    }
    take();
    ask(31);
    expect(take()).toEqual(['r3 31']);
  });

  it('is everybody at the beginning of a leadership, and where the members change', () => {
    const { quorum, ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    take();
    quorum.askEverybody();
    ask(2);
    expect(take()).toEqual(['r2 2', 'r3 2']);
    votes(r3, 2);
    const founded = foundedBy([r1, r2, r3]);
    const members = founded.members.map((member) =>
      member.replica === r3 ? { ...member, incarnation: 2, role: 'learner' as const } : member,
    );
    quorum.configure({ ...founded, version: 2, members });
    ask(3);
    votes(memberName(r3, 2), 3);
    expect(take()).toEqual(['r2 3', 'r3 3']);
    votes(r2, 3);
    ask(4);
    expect(take()).toEqual(['r2 4']);
  });
});

describe('what waits', () => {
  it('leaves before anything else that is sent to the same peer', () => {
    const { quorum, ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    ask(2);
    take();
    quorum.send(r2, { kind: 'Reject', group, ballot, promised: ballot });
    expect(take()).toEqual(['r2 2', 'r2 Reject']);
  });

  it('is one message where slots follow one another in one ballot, as old as its first part', async () => {
    const messages: Message[] = [];
    const { time, quorum, ask, votes } = setUp([r1, r2, r3], (_, message) => messages.push(message));
    ask(1);
    votes(r3, 1);
    messages.length = 0;
    const parts = [
      { ...accept(2), sentAtMs: 5, commitPoint: 1 as Slot },
      { ...accept(3), sentAtMs: 6, commitPoint: 2 as Slot },
      { ...accept(5), sentAtMs: 7, commitPoint: 2 as Slot },
      { ...accept(6), ballot: { round: 2, replica: r1 } },
    ];
    for (const part of parts) quorum.send(r2, part);
    await time.pass(10);
    const entries = [...parts[0]!.entries, ...parts[1]!.entries];
    expect(messages).toEqual([{ ...accept(2), entries, sentAtMs: 5, commitPoint: 2 }, parts[2], parts[3]]);
  });

  it('is bounded', () => {
    const { ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    take();
    ask(2, 600);
    expect(take()).toEqual(['r3 2']);
    ask(3, 600);
    expect(take()).toEqual(['r2 2-3', 'r3 3']);
  });

  it('never leaves when it is stopped', async () => {
    const { time, quorum, ask, take, votes } = setUp();
    ask(1);
    votes(r3, 1);
    ask(2);
    take();
    quorum.stop();
    await time.pass(100);
    expect(take()).toEqual([]);
  });
});
