/** What replicas rely on in every Transport, as one suite that the one over sockets and the one in simulated time run against themselves. */
import { afterEach, describe, expect, it } from 'vitest';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ControlMessage } from '../control.ts';
import type { Transport } from '../transport.ts';

export interface TransportFixture {
  /** r1 and r2, which know each other; each begins as the incarnation 1 of one cluster. */
  readonly one: Transport;
  readonly two: Transport;
  /** r2 comes back, with nothing of what it was. */
  readonly again: () => Promise<Transport>;
  /** @throws Error if it does not come to hold */
  readonly until: (holds: () => boolean) => Promise<void>;
  readonly dispose: () => Promise<void>;
}

const group = 'main' as GroupId;
export const contractCluster = 'c0ffee';
const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];

function heartbeat(commitPoint: number): Message {
  return {
    kind: 'Heartbeat',
    group,
    ballot: { round: 3, replica: memberName(r1, 1) },
    commitPoint: commitPoint as Slot,
    sentAtMs: 1.5,
    globalApplicationPointer: 0 as Slot,
    configuration: { version: 1, slot: 0 as Slot, members: [] },
  };
}

const question: ControlMessage = { kind: 'VerifyQuestion', check: 'r1 1', slot: 5 as Slot };

export function describeTransport(name: string, open: () => Promise<TransportFixture>): void {
  describe(`the contract of transports: ${name}`, () => {
    const opened: TransportFixture[] = [];
    afterEach(async () => {
      for (const { dispose } of opened.splice(0)) await dispose();
    });
    async function setUp() {
      const fixture = await open();
      opened.push(fixture);
      await fixture.until(() => fixture.one.connected().includes(r2) && fixture.two.connected().includes(r1));
      return { ...fixture, heard: listen(fixture.two) };
    }
    function listen(transport: Transport): [ReplicaId, number][] {
      const heard: [ReplicaId, number][] = [];
      transport.onMessage((from, message) => {
        heard.push([from, message.kind === 'Heartbeat' ? message.commitPoint : -1]);
      });
      return heard;
    }

    it('a message is heard as it was sent, with the incarnation that sent it', async () => {
      const { one, two, until } = await setUp();
      const heard: [ReplicaId, Message][] = [];
      two.onMessage((from, message) => heard.push([from, message]));
      one.send(memberName(r2, 1), heartbeat(7));
      await until(() => heard.length === 1);
      expect(heard).toEqual([[memberName(r1, 1), heartbeat(7)]]);
    });

    it('what is sent is not heard before the call is over', async () => {
      const { one, heard, until } = await setUp();
      one.send(memberName(r2, 1), heartbeat(7));
      expect(heard).toEqual([]);
      await until(() => heard.length === 1);
    });

    it('what is for another incarnation is heard by nobody', async () => {
      const { one, heard, until } = await setUp();
      one.send(memberName(r2, 2), heartbeat(1));
      one.send(memberName(r2, 1), heartbeat(2));
      await until(() => heard.length > 0);
      expect(heard).toEqual([[memberName(r1, 1), 2]]);
    });

    it('what was sent to a lost life does not reach the next, which is reached by its own name', async () => {
      const { one, again, until } = await setUp();
      const next = await again();
      await until(() => one.connected().includes(r2) && next.connected().includes(r1));
      const heard = listen(next);
      next.become(memberName(r2, 2), contractCluster);
      one.send(memberName(r2, 1), heartbeat(1));
      // A peer learns of the new name a moment later.
      await until(() => {
        if (heard.length === 0) one.send(memberName(r2, 2), heartbeat(2));
        return heard.length > 0;
      });
      expect(heard[0]).toEqual([memberName(r1, 1), 2]);
    });

    it('a word for a replica is heard by whatever it is by now', async () => {
      const { one, two, until } = await setUp();
      const heard: [ReplicaId, string][] = [];
      two.onControl((from, message) => heard.push([from, message.kind]));
      one.sendControl(r2, question);
      await until(() => heard.length === 1);
      expect(heard).toEqual([[memberName(r1, 1), question.kind]]);
    });

    it('who is away is not connected, and what is sent to it harms nobody', async () => {
      const { one, two, until } = await setUp();
      await two.close();
      await until(() => one.connected().length === 0);
      one.send(memberName(r2, 1), heartbeat(1));
      one.sendControl(r2, question);
      expect(one.connected()).toEqual([]);
    });

    it('says that a process is gone, once for each that was there', async () => {
      const { one, two, again, until } = await setUp();
      const gone: ReplicaId[] = [];
      one.onGone((replica) => gone.push(replica));
      await two.close();
      await until(() => gone.length > 0);
      const next = await again();
      await until(() => one.connected().includes(r2) && next.connected().includes(r1));
      expect(gone).toEqual([r2]);
      await next.close();
      await until(() => gone.length > 1);
      expect(gone).toEqual([r2, r2]);
    });
  });
}
