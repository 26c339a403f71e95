/** A host of single-decree Paxos under a test's control (one-host.ts): what its peers say, and what they hear. */
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import type { Body } from '../../../paxos/run.ts';
import type { PaxosMessage } from '../../../paxos/types/messages.ts';
import { testGroup } from '../../testing/configurations.ts';
import { decodePaxos, encodePaxos } from '../paxos-codec.ts';
import { PaxosHost } from '../paxos-host.ts';
import { at, firstLife, type Life, m2, OneHost, operation } from './one-host.ts';

export { at, m1, m2, m3, operation, textsOf } from './one-host.ts';

export const bytesOf = (body: Body, done = 0): Uint8Array =>
  encodePaxos({ group: testGroup, done: at(done), ...body });

interface Heard {
  readonly by: ReplicaId;
  readonly message: PaxosMessage;
}

export class OnePaxosHost extends OneHost<PaxosHost> {
  readonly heard: Heard[];

  private constructor(life: Life) {
    const heard: Heard[] = [];
    super(
      life,
      { protocol: 'paxos' },
      (parts) => new PaxosHost(parts),
      (by, message) => {
        if (message.kind !== 'Carried' || message.channel !== 'paxos') return;
        heard.push({ by, message: decodePaxos(message.bytes, testGroup) });
      },
    );
    this.heard = heard;
  }

  static async start(): Promise<OnePaxosHost> {
    return new OnePaxosHost(await firstLife());
  }

  async comeBack(): Promise<OnePaxosHost> {
    return new OnePaxosHost(await this.nextLife());
  }

  /** `from` says this, and what comes of it has time to come. */
  async say(from: ReplicaId, body: Body, done = 0): Promise<void> {
    this.carry(from, bytesOf(body, done), 'paxos');
    await this.pass();
  }

  /** Of this kind, heard by this peer so far. */
  of<Kind extends PaxosMessage['kind']>(
    by: ReplicaId,
    kind: Kind,
  ): readonly Extract<PaxosMessage, { kind: Kind }>[] {
    return this.heard.flatMap((one) =>
      one.by === by && one.message.kind === kind
        ? [one.message as Extract<PaxosMessage, { kind: Kind }>]
        : [],
    );
  }

  /** This operation is chosen, with m2's help. */
  async choose(text: string): Promise<void> {
    const before = this.of(m2, 'SlotPrepare').length;
    this.host.give(operation(text));
    await this.pass(5);
    const { slot, ballot } = this.of(m2, 'SlotPrepare')[before]!;
    await this.say(m2, { kind: 'SlotPromise', slot, ballot, vote: null });
    await this.say(m2, { kind: 'SlotAccepted', slot, ballot });
  }
}
