/**
 * Transports that hand messages to each other within one process, in simulated time. Links can be cut, one way too, and may lose, double and delay what goes over them.
 *
 * Responsible for: what befalls the network, whoever is at its ends (cuts, weather). What a replica is told to do to its own links is the product's fault layer, and is forgotten with its process.
 * Invariants: those of ports/transport.ts; nothing reaches a process that is dead, and one that is stopped hears it when it goes on.
 */
import { createFaultLayer, type FaultLayer } from '../../adapters/ws-transport/fault-layer.ts';
import { ownVersions } from '../../adapters/ws-transport/versions.ts';
import { memberName, replicaOf } from '../../multipaxos/configuration.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { Timers } from '../../ports/clock.ts';
import { CopyError, type CopyFetcher, type CopySource } from '../../ports/copy.ts';
import type { Random } from '../../ports/testing/random.ts';
import type { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Transport } from '../../ports/transport.ts';
import { openChannel, type ChannelEnd } from '../../payload/wal/testing/channel.ts';

export type MemoryTransport = Transport &
  CopyFetcher &
  Pick<FaultLayer, 'setFault' | 'setFaults' | 'heal' | 'faults'> & { offerCopies(source: CopySource): void };

interface Station {
  readonly id: ReplicaId;
  readonly timers: Timers;
  readonly faults: FaultLayer;
  member: ReplicaId;
  message: (from: ReplicaId, message: Message) => void;
  control: (from: ReplicaId, message: ControlMessage) => void;
  gone: (replica: ReplicaId) => void;
  copies: CopySource | null;
}

interface Channel {
  readonly between: readonly [Station, Station];
  readonly ends: readonly [ChannelEnd, ChannelEnd];
}

/** What befalls messages: chances from 0 to 1. */
export interface Weather {
  readonly loss: number;
  readonly doubling: number;
  readonly slow: number;
  /** Of what is slow, so many milliseconds at most. */
  readonly lateMsMax: number;
}

export const calm: Weather = { loss: 0, doubling: 0, slow: 0.01, lateMsMax: 80 };

export class MemoryNetwork {
  weather = calm;
  /** Hosts refuse connections to a process that has died, and those who reach them hear of it; else they are silent, as hosts are that went down. */
  refuses = false;
  /** Whom copies were asked of, in order. */
  readonly copiesAsked: ReplicaId[] = [];
  /** Hears of all that leaves, whether it arrives or not. */
  onSent: ((from: ReplicaId, to: ReplicaId, message: Message) => void) | null = null;
  private readonly time: SimulatedTime;
  private readonly random: Random;
  private readonly stations = new Map<ReplicaId, Station>();
  /** From whom nothing gets to whom; each for its own reason. */
  private cuts: { readonly from: ReplicaId; readonly to: ReplicaId }[] = [];
  private channels: Channel[] = [];

  constructor(time: SimulatedTime, random: Random) {
    this.time = time;
    this.random = random;
  }

  /** Returns the way to mend it. */
  cut(from: ReplicaId, to: ReplicaId): () => void {
    const cut = { from, to };
    this.cuts.push(cut);
    this.endChannels(([one, other]) => !this.isOpen(one.id, other.id) || !this.isOpen(other.id, one.id));
    return () => {
      this.cuts = this.cuts.filter((one) => one !== cut);
    };
  }

  /** Returns the way to mend it. */
  isolate(replica: ReplicaId, others: readonly ReplicaId[]): () => void {
    const mends = others.flatMap((other) =>
      other === replica ? [] : [this.cut(replica, other), this.cut(other, replica)],
    );
    return () => mends.forEach((mend) => mend());
  }

  heal(): void {
    this.cuts = [];
  }

  private isOpen(from: ReplicaId, to: ReplicaId): boolean {
    return !this.cuts.some((cut) => cut.from === from && cut.to === to);
  }

  /** The process of this replica has died. */
  died(replica: ReplicaId): void {
    const station = this.stations.get(replica);
    if (station === undefined) return;
    this.stations.delete(replica);
    this.endChannels((between) => between.includes(station));
    if (!this.refuses) return;
    for (const other of this.stations.values()) {
      if (!this.isOpen(replica, other.id) || !this.isOpen(other.id, replica)) continue;
      other.timers.after(this.latencyMs(), () => other.gone(replica));
    }
  }

  private endChannels(isOver: (between: Channel['between']) => boolean): void {
    for (const { between, ends } of this.channels.filter((channel) => isOver(channel.between))) {
      for (const [index, end] of ends.entries()) {
        between[index]!.timers.after(this.latencyMs(), () =>
          end.destroy(new Error('the connection was lost')),
        );
      }
    }
    this.channels = this.channels.filter((channel) => !isOver(channel.between));
  }

  private readonly latencyMs = (): number => {
    const { random, weather } = this;
    return random.chance(weather.slow) ? random.next() * weather.lateMsMax : 0.1 + random.next() * 0.6;
  };

  private send(from: Station, to: ReplicaId, hand: (station: Station) => void): void {
    from.faults.send(to, 0, () => this.deliver(from, to, hand));
  }

  private deliver(from: Station, to: ReplicaId, hand: (station: Station) => void): void {
    const { random, weather, time } = this;
    const times = random.chance(weather.loss) ? 0 : random.chance(weather.doubling) ? 2 : 1;
    for (let n = 0; n < times; n++) {
      time.after(this.latencyMs(), () => {
        const station = this.stations.get(to);
        const isThere = this.stations.get(from.id) === from && station !== undefined;
        if (isThere && this.isOpen(from.id, to)) station.timers.soon(() => hand(station));
      });
    }
  }

  transport(id: ReplicaId, timers: Timers): MemoryTransport {
    const here: Station = {
      id,
      timers,
      faults: createFaultLayer({
        id,
        allowed: true,
        seed: 1,
        queueBytesMax: Number.POSITIVE_INFINITY,
        timers,
        onChange: () => this.endChannels((between) => between.includes(here) && areCut(between)),
      }),
      member: memberName(id, 0),
      message: () => undefined,
      control: () => undefined,
      gone: () => undefined,
      copies: null,
    };
    this.stations.set(id, here);
    return {
      send: (to, message) => {
        const from = here.member;
        this.onSent?.(from, to, message);
        this.send(here, replicaOf(to), (station) => {
          if (station.member === to) station.message(from, message);
        });
      },
      sendControl: (replica, message) => {
        const from = here.member;
        this.send(here, replica, (station) => station.control(from, message));
      },
      onMessage: (handler) => {
        here.message = handler;
      },
      onControl: (handler) => {
        here.control = handler;
      },
      onGone: (handler) => {
        here.gone = handler;
      },
      become: (member) => {
        here.member = member;
      },
      setPeers: () => undefined,
      connected: () => [...this.stations.keys()].filter((other) => other !== id && this.reaches(id, other)),
      versionOf: (other) => (this.stations.has(other) && this.reaches(id, other) ? ownVersions.newest : null),
      open: (from) => this.open(here, from),
      offerCopies: (source) => {
        here.copies = source;
      },
      setFault: (fault) => here.faults.setFault(fault),
      setFaults: (wanted, heals) => here.faults.setFaults(wanted, heals),
      heal: () => here.faults.heal(),
      faults: () => here.faults.faults(),
      close: () => {
        this.died(id);
        return Promise.resolve();
      },
    };
  }

  private reaches(one: ReplicaId, other: ReplicaId): boolean {
    return this.stations.has(other) && this.isOpen(one, other) && this.isOpen(other, one);
  }

  private open(here: Station, from: ReplicaId): Promise<ChannelEnd> {
    this.copiesAsked.push(from);
    return new Promise((resolve, reject) => {
      const tell = (work: () => void): void => void here.timers.after(this.latencyMs(), work);
      const there = this.stations.get(from);
      const { copies } = there ?? { copies: null };
      const isAway = !this.reaches(here.id, from);
      if (there === undefined || copies === null || isAway || areCut([here, there])) {
        tell(() => reject(new CopyError('sourceUnavailable', `${from} cannot be reached`)));
        return;
      }
      const way = (one: Station, other: Station) => (): number =>
        this.latencyMs() + (one.faults.holdUp(other.id, true) ?? 0);
      const ends = openChannel(here.timers, there.timers, way(here, there), way(there, here));
      this.channels.push({ between: [here, there], ends });
      there.timers.after(this.latencyMs(), () => void copies.serve(ends[1]));
      tell(() => resolve(ends[0]));
    });
  }
}

function areCut([one, other]: Channel['between']): boolean {
  return one.faults.isCut(other.id) || other.faults.isCut(one.id);
}
