/**
 * A protocol's host under a test's control: the test is its two peers, lets its time pass, and holds or fails what its log is told to do.
 *
 * The log is the product's, on a disk in memory. Links are those of replica/testing, without weather. Each protocol has its own (one-paxos-host.ts, one-primary-host.ts).
 */
import { pino } from 'pino';
import {
  createSegmentLogOn,
  openSegmentLogOn,
  type SegmentLogOptions,
} from '../../../adapters/segment-log/segment-log-on.ts';
import { SimulatedDisk } from '../../../adapters/segment-log/testing/simulated-disk.ts';
import type { ReplicaConfigInput } from '../../../config/config-schema.ts';
import { ballotNone } from '../../../multipaxos/ballot.ts';
import { memberName } from '../../../multipaxos/configuration.ts';
import type { Entry, SlotEntry } from '../../../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { LogRecord } from '../../../multipaxos/types/records.ts';
import type { Channel, ControlMessage } from '../../../ports/control.ts';
import type { LogStore } from '../../../ports/log-store.ts';
import { Random } from '../../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { ReplicaEvents } from '../../status/events.ts';
import { configOf, foundedBy, testGroup } from '../../testing/configurations.ts';
import { MemoryNetwork, type MemoryTransport } from '../../testing/memory-network.ts';
import type { ProtocolHost, ProtocolListener, ProtocolParts } from '../protocol-host.ts';

export const ids = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];
export const members = ids.map((id) => memberName(id, 1)) as [ReplicaId, ReplicaId, ReplicaId];
export const [m1, m2, m3] = members;
export const at = (slot: number): Slot => slot as Slot;
export const operation = (text: string): Uint8Array => Buffer.from(text);

/** `-` for a no-op, `>` where a primary begins. */
export function textsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map((entry) => {
    if (entry.kind === 'leaderStart') return '>';
    return entry.kind === 'command' ? Buffer.from(entry.payload).toString() : '-';
  });
}

const cluster = 'c';
const enoughMs = 60;

/** What the host has told whom it works for. */
class Told implements ProtocolListener {
  readonly entries: SlotEntry[] = [];
  readonly troubles: (Error | null)[] = [];
  readonly errors: Error[] = [];
  copies = 0;
  rooms = 0;
  proposers = 0;
  purges = 0;
  chosen(entries: readonly SlotEntry[]): void {
    this.entries.push(...entries);
  }
  room(): void {
    this.rooms += 1;
  }
  proposerChanged(): void {
    this.proposers += 1;
  }
  purged(): void {
    this.purges += 1;
  }
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

/** What outlives the host. */
export interface World {
  readonly time: SimulatedTime;
  readonly network: MemoryNetwork;
  readonly transports: MemoryTransport[];
  readonly disk: SimulatedDisk;
  /** Else what it is told to do is done at once. */
  isDiskSlow: boolean;
  lives: number;
}

export interface Life {
  readonly world: World;
  readonly log: LogStore;
  readonly timers: ProcessTime;
}

export async function firstLife(): Promise<Life> {
  const time = new SimulatedTime();
  const random = new Random(7);
  const network = new MemoryNetwork(time, random);
  network.weather = { loss: 0, doubling: 0, slow: 0, lateMsMax: 0 };
  const transports = ids.map((id) => network.transport(id, new ProcessTime(time)));
  for (const [index, transport] of transports.entries()) transport.become(members[index]!, cluster);
  const disk = new SimulatedDisk({ random });
  const world: World = { time, network, transports, disk, isDiskSlow: false, lives: 0 };
  const timers = new ProcessTime(time);
  const identity = { cluster, member: m1 };
  const newLog = { identity, configuration: foundedBy(ids), base: at(0), promised: ballotNone };
  const files = world.disk.open(timers, () => world.isDiskSlow);
  return { world, log: await createSegmentLogOn(files, optionsOf(timers), newLog), timers };
}

export class OneHost<Host extends ProtocolHost> {
  readonly told = new Told();
  readonly controls: ControlMessage[] = [];
  /** What its log was given, in order. */
  readonly records: LogRecord[] = [];
  readonly host: Host;
  readonly events: ReplicaEvents;
  /** Of its events: each is stamped later than the one before. */
  private nowUs = 0;
  /** Nothing is appended until it is let go. */
  hold: Promise<void> | null = null;
  /** Appends fail with it. */
  failing: Error | null = null;
  /** What the log says that it comes to; null: the truth. */
  bytes: number | null = null;
  private readonly world: World;
  private readonly timers: ProcessTime;

  protected constructor(
    { world, log, timers }: Life,
    changes: Partial<ReplicaConfigInput>,
    make: (parts: ProtocolParts) => Host,
    heard: (by: ReplicaId, message: ControlMessage) => void,
  ) {
    this.world = world;
    this.timers = timers;
    const transport = world.transports[0]!;
    transport.become(m1, cluster);
    this.events = new ReplicaEvents(m1, { run: `run${world.lives}`, nowUs: () => this.nowUs++ });
    this.host = make({
      config: configOf('r1' as ReplicaId, ids, { payload: 'statements', ...changes }),
      log: this.watched(log),
      transport,
      timers,
      random: () => 0.5,
      events: this.events,
      logger: pino({ level: 'silent' }),
    });
    transport.onControl((from, message) => this.host.onControl(from, message));
    for (const [index, peer] of world.transports.entries()) {
      if (index === 0) continue;
      peer.onControl((_, message) => {
        this.controls.push(message);
        heard(members[index]!, message);
      });
    }
    this.host.start(this.told);
  }

  /** The power fails: of a write that is under way the disk has some sectors. What the host comes back with. */
  protected async nextLife(): Promise<Life> {
    const { world } = this;
    this.host.stop();
    this.timers.die();
    world.network.died(ids[0]);
    world.disk.crashMachine();
    world.lives += 1;
    world.isDiskSlow = false;
    const timers = new ProcessTime(world.time);
    world.transports[0] = world.network.transport(ids[0], timers);
    const files = world.disk.open(timers, () => world.isDiskSlow);
    return { world, log: await openSegmentLogOn(files, optionsOf(timers)), timers };
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
        this.records.push(...records);
        return log.append(records);
      },
      stats: () => ({ ...log.stats(), ...(this.bytes === null ? {} : { bytes: this.bytes }) }),
    };
  }

  get nowMs(): number {
    return this.timers.nowMs();
  }

  pass(ms = enoughMs): Promise<void> {
    return this.world.time.pass(ms);
  }

  /** Returns the way to let its log go on. */
  holdLog(): () => void {
    let go = (): void => undefined;
    this.hold = new Promise((resolve) => (go = resolve));
    return () => {
      this.hold = null;
      go();
    };
  }

  carry(from: ReplicaId, bytes: Uint8Array, channel: Channel): void {
    this.tell(from, { kind: 'Carried', channel, bytes });
  }

  tell(from: ReplicaId, message: ControlMessage): void {
    this.world.transports[members.indexOf(from)]!.sendControl(ids[0], message);
  }

  /** Nobody hears it, and it hears nobody. */
  cutOff(): void {
    this.world.network.isolate(ids[0], ids);
  }

  get chosen(): readonly string[] {
    return textsOf(this.told.entries.map(({ entry }) => entry));
  }
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
