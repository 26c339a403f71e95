/**
 * A host of single-decree Paxos under a test's control: the test is its two peers, lets its time pass, and holds or fails what its log is told to do.
 *
 * The log is the product's, on a disk in memory. Links are those of replica/testing, without weather.
 */
import { pino } from 'pino';
import {
  createSegmentLogOn,
  openSegmentLogOn,
  type SegmentLogOptions,
} from '../../../adapters/segment-log/segment-log.ts';
import { SimulatedDisk } from '../../../adapters/segment-log/testing/simulated-disk.ts';
import { ballotNone } from '../../../multipaxos/ballot.ts';
import { memberName } from '../../../multipaxos/configuration.ts';
import type { Entry, SlotEntry } from '../../../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { Body } from '../../../paxos/run.ts';
import type { PaxosMessage } from '../../../paxos/types/messages.ts';
import type { ControlMessage } from '../../../ports/control.ts';
import type { LogStore } from '../../../ports/log-store.ts';
import { Random } from '../../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { ReplicaEvents } from '../../status/events.ts';
import { configOf, foundedBy, testGroup } from '../../testing/configurations.ts';
import { MemoryNetwork, type MemoryTransport } from '../../testing/memory-network.ts';
import { decodePaxos, encodePaxos } from '../paxos-codec.ts';
import { PaxosHost } from '../paxos-host.ts';
import type { ProtocolListener } from '../protocol-host.ts';

export const ids = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
export const members = ids.map((id) => memberName(id, 1)) as [ReplicaId, ReplicaId, ReplicaId];
export const [m1, m2, m3] = members;
export const at = (slot: number): Slot => slot as Slot;
export const bytesOf = (body: Body, done = 0): Uint8Array =>
  encodePaxos({ group: testGroup, done: at(done), ...body });
export const operation = (text: string): Uint8Array => Buffer.from(text);

/** `-` for a no-op. */
export function textsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map((entry) => (entry.kind === 'command' ? Buffer.from(entry.payload).toString() : '-'));
}

const cluster = 'c';
const enoughMs = 60;

interface Heard {
  readonly by: ReplicaId;
  readonly message: PaxosMessage;
}

/** What the host has told whom it works for. */
class Told implements ProtocolListener {
  readonly entries: SlotEntry[] = [];
  readonly troubles: (Error | null)[] = [];
  readonly errors: Error[] = [];
  copies = 0;
  rooms = 0;
  chosen(entries: readonly SlotEntry[]): void {
    this.entries.push(...entries);
  }
  room(): void {
    this.rooms += 1;
  }
  proposerChanged(): void {
    throw new Error('nobody leads');
  }
  purged(): void {}
  copyNeeded(): void {
    this.copies += 1;
  }
  logTrouble(error: Error | null): void {
    this.troubles.push(error);
  }
  fatal(error: Error): void {
    this.errors.push(error);
  }
}

export class OnePaxosHost {
  readonly told = new Told();
  readonly heard: Heard[] = [];
  readonly controls: ControlMessage[] = [];
  readonly host: PaxosHost;
  /** Nothing is appended until it is let go. */
  hold: Promise<void> | null = null;
  /** Appends fail with it. */
  failing: Error | null = null;
  /** What the log says that it comes to; null: the truth. */
  bytes: number | null = null;
  private readonly world: World;
  private readonly timers: ProcessTime;

  private constructor(world: World, log: LogStore, timers: ProcessTime) {
    this.world = world;
    this.timers = timers;
    const config = configOf('r1' as ReplicaId, ids, { payload: 'statements', protocol: 'paxos' });
    const transport = world.transports[0]!;
    transport.become(m1, cluster);
    this.host = new PaxosHost({
      config,
      log: this.watched(log),
      transport,
      timers,
      random: () => 0.5,
      events: new ReplicaEvents(m1, { run: `run${world.lives}`, nowUs: () => 0 }),
      logger: pino({ level: 'silent' }),
    });
    transport.onControl((from, message) => this.host.onControl(from, message));
    for (const [index, peer] of world.transports.entries()) {
      if (index > 0) peer.onControl((_, message) => this.note(members[index]!, message));
    }
    this.host.start(this.told);
  }

  static async start(): Promise<OnePaxosHost> {
    const time = new SimulatedTime();
    const random = new Random(7);
    const network = new MemoryNetwork(time, random);
    network.weather = { loss: 0, doubling: 0, slow: 0, lateMsMax: 0 };
    const transports = ids.map((id) => network.transport(id, new ProcessTime(time)));
    for (const [index, transport] of transports.entries()) transport.become(members[index]!, cluster);
    const world = {
      time,
      random,
      network,
      transports,
      disk: new SimulatedDisk({ random }),
      isDiskSlow: false,
      lives: 0,
    };
    const timers = new ProcessTime(time);
    const identity = { cluster, member: m1 };
    const newLog = { identity, configuration: foundedBy(ids), base: at(0), promised: ballotNone };
    const options = optionsOf(timers);
    const log = await createSegmentLogOn(
      world.disk.open(timers, () => world.isDiskSlow),
      options,
      newLog,
    );
    return new OnePaxosHost(world, log, timers);
  }

  /** The power fails: of a write that is under way the disk has some sectors. Then the host comes back. */
  async comeBack(): Promise<OnePaxosHost> {
    const { world } = this;
    this.host.stop();
    this.timers.die();
    world.network.died(ids[0]);
    world.disk.crashMachine();
    world.lives += 1;
    world.isDiskSlow = false;
    const timers = new ProcessTime(world.time);
    world.transports[0] = world.network.transport(ids[0], timers);
    const options = optionsOf(timers);
    const log = await openSegmentLogOn(
      world.disk.open(timers, () => world.isDiskSlow),
      options,
    );
    return new OnePaxosHost(world, log, timers);
  }

  set isDiskSlow(isSlow: boolean) {
    this.world.isDiskSlow = isSlow;
  }

  private watched(log: LogStore): LogStore {
    return {
      ...log,
      append: async (records) => {
        await this.hold;
        if (this.failing !== null) throw this.failing;
        return log.append(records);
      },
      stats: () => ({ ...log.stats(), ...(this.bytes === null ? {} : { bytes: this.bytes }) }),
    };
  }

  private note(by: ReplicaId, message: ControlMessage): void {
    this.controls.push(message);
    if (message.kind !== 'Carried' || message.channel !== 'paxos') return;
    this.heard.push({ by, message: decodePaxos(message.bytes, testGroup) });
  }

  pass(ms = enoughMs): Promise<void> {
    return this.world.time.pass(ms);
  }

  /** `from` says this, and what comes of it has time to come. */
  async say(from: ReplicaId, body: Body, done = 0): Promise<void> {
    this.carry(from, bytesOf(body, done));
    await this.pass();
  }

  carry(from: ReplicaId, bytes: Uint8Array, channel: 'paxos' | 'operations' = 'paxos'): void {
    this.tell(from, { kind: 'Carried', channel, bytes });
  }

  tell(from: ReplicaId, message: ControlMessage): void {
    this.world.transports[members.indexOf(from)]!.sendControl(ids[0], message);
  }

  /** Nobody hears it, and it hears nobody. */
  cutOff(): void {
    this.world.network.isolate(ids[0], ids);
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

  get chosen(): readonly string[] {
    return textsOf(this.told.entries.map(({ entry }) => entry));
  }
}

interface World {
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly transports: MemoryTransport[];
  readonly disk: SimulatedDisk;
  /** Else what it is told to do is done at once. */
  isDiskSlow: boolean;
  lives: number;
}

function optionsOf(timers: ProcessTime): SegmentLogOptions {
  return {
    group: testGroup,
    segmentBytes: 64 * 1024,
    startIdleTimer: (ms, work) => {
      let stop = timers.after(ms, work);
      return {
        refresh: () => {
          stop();
          stop = timers.after(ms, work);
        },
        stop: () => stop(),
      };
    },
  };
}
