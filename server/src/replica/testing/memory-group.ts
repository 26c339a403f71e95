/**
 * A group of replicas in memory, in simulated time: founded by the first, joined by the others.
 *
 * Machines that are no members are there to be added. Who the members are the replicas say themselves: the newest configuration that any of them knows to be chosen.
 */
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaConfigInput } from '../../config/config-schema.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Retention } from '../../payload/wal/testing/model-vacuum.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { Random } from '../../ports/testing/random.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { configOf, foundedBy } from './configurations.ts';
import type { MemberWatch } from './member-watch.ts';
import { MemoryMember } from './memory-member.ts';
import type { MemberProcess } from './member-process.ts';
import { MemoryNetwork } from './memory-network.ts';

/** How often it is looked at whether a group is as it ought to be. */
const lookMs = 5;

export interface GroupOptions {
  readonly replicas: number;
  /** Machines beside them. Default: none. */
  readonly spares?: number;
  readonly seed: number;
  readonly config?: Partial<ReplicaConfigInput>;
  readonly logLevel?: string;
  /** Of the log: it lets go of whole segments only. Default: so few that a short run does. */
  readonly segmentBytes?: number;
  readonly onReported?: (member: ReplicaId, position: Lsn, timeline: Timeline) => void;
  readonly onEvent?: (member: ReplicaId, event: TraceEvent) => void;
  /** A process ends for that: true if it ought to. */
  readonly excuses?: (member: ReplicaId, error: Error) => boolean;
  readonly watch?: MemberWatch;
  /** Each machine keeps an archive of chosen WAL. Default: none does. */
  readonly archives?: boolean;
  /** What PostgreSQL keeps of what nobody sees any more. Default: everything, so that all that was committed can be looked into. */
  readonly keeps?: Retention;
}

/** Is told when a life of a member's process begins, and when it has ended. */
export interface LivesObserver {
  onStarted(member: ReplicaId, process: MemberProcess): void;
  onEnded(member: ReplicaId, process: MemberProcess): void;
}

export class MemoryGroup {
  readonly time = new SimulatedTime();
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly machines: readonly MemoryMember[];
  private known: Pick<Configuration, 'version' | 'members'>;
  /** What must not be: a replica that could not go on, a PostgreSQL that was fed what it must not be. */
  readonly troubles: string[] = [];

  /** Null: nobody looks on. */
  observer: LivesObserver | null = null;
  private eventAtUs = 0;

  constructor(options: GroupOptions) {
    const { replicas, spares = 0, seed, config = {}, onReported, onEvent, excuses, watch = null } = options;
    const { logLevel, segmentBytes, archives = false, keeps = null } = options;
    this.random = new Random(seed);
    this.network = new MemoryNetwork(this.time, this.random.fork());
    if (watch !== null) this.network.onSent = (from, to, message) => watch.sends(from, to, message);
    const ids = Array.from({ length: replicas + spares }, (_, index) => `r${index + 1}` as ReplicaId);
    const [founder, ...others] = ids.slice(0, replicas);
    this.known = foundedBy([founder!], others);
    this.machines = ids.map(
      (id) =>
        new MemoryMember({
          config: configOf(id, ids, config),
          time: this.time,
          nowUs: () => this.nowUs(),
          random: this.random.fork(),
          network: this.network,
          postgres: {
            keeps,
            onTrouble: (what) => this.troubles.push(`${id}: ${what}`),
            onReported: (position, timeline) => onReported?.(id, position, timeline),
          },
          onFatal: (error) => {
            if (excuses?.(id, error) !== true)
              this.troubles.push(`${id} cannot go on: ${error.stack ?? error.message}`);
          },
          ...(onEvent === undefined ? {} : { onEvent: (event: TraceEvent): void => onEvent(id, event) }),
          onStarted: (process) => this.observer?.onStarted(id, process),
          onEnded: (process) => this.observer?.onEnded(id, process),
          archives,
          watch,
          ...(logLevel === undefined ? {} : { logLevel }),
          ...(segmentBytes === undefined ? {} : { segmentBytes }),
        }),
    );
  }

  /** Of what happens at the same time, what happens later is later. */
  private nowUs(): number {
    this.eventAtUs = Math.max(this.eventAtUs + 1, Math.floor(this.time.nowMs() * 1000));
    return this.eventAtUs;
  }

  /** Machines of members, in the order of their names. */
  get members(): readonly MemoryMember[] {
    const { members } = this.configuration;
    return this.machines.filter(({ id }) => members.some(({ replica }) => replica === id));
  }

  get ids(): readonly ReplicaId[] {
    return this.members.map(({ id }) => id);
  }

  /** The newest that anybody is known to know. */
  get configuration(): Pick<Configuration, 'version' | 'members'> {
    for (const { replica } of this.machines) {
      const newest = replica?.membership.configuration;
      if (newest !== undefined && newest.version > this.known.version) this.known = newest;
    }
    return this.known;
  }

  member(id: ReplicaId): MemoryMember {
    return this.machines.find((machine) => machine.id === id)!;
  }

  /** The first founds the group, the others join it. Resolves when all are healthy. @throws Error if that takes too long */
  async begin(): Promise<void> {
    const [founder, ...others] = this.members;
    await founder!.found(
      foundedBy(
        [founder!.id],
        others.map(({ id }) => id),
      ),
    );
    for (const member of [founder!, ...others]) await member.start();
    await this.healthy(120_000);
  }

  /** Every member votes, is served by a standby or serves, and has everything. @throws Error if it takes longer, or anything has happened that must not */
  async healthy(maxMs: number): Promise<void> {
    const isSettled = (): boolean => this.troubles.length > 0 || this.isHealthy();
    if (await this.time.passUntil(isSettled, maxMs, lookMs)) {
      if (this.troubles.length > 0) throw new Error(this.troubles[0]);
      return;
    }
    throw new Error(`the group is not healthy after ${maxMs} ms:\n${this.describe()}`);
  }

  /** Of those that run. */
  isHealthy(): boolean {
    const running = this.members.filter(({ isRunning }) => isRunning);
    return (
      this.serving() !== null &&
      running.every(({ replica }) => {
        if (replica === null) return false;
        const { state, recovery, membership, incarnation, id } = replica.status(0);
        const self = membership.members.find(({ replica: other }) => other === id);
        return (
          state === 'serving' &&
          recovery === null &&
          self?.role === 'voter' &&
          self.incarnation === incarnation
        );
      })
    );
  }

  /** The member that serves clients; null: none, or more than one thinks so. */
  serving(): MemoryMember | null {
    const all = this.members.filter(({ replica }) => replica?.service.service().kind === 'here');
    return all.length === 1 ? all[0]! : null;
  }

  /** What every database that runs has, in the order in which it was committed; the same everywhere once all are healthy and nobody writes. */
  contents(): readonly (readonly string[])[] {
    return this.members.flatMap(({ postgres: { run } }) => (run === null ? [] : [run.buffers.commits()]));
  }

  /** All that is chosen is replayed everywhere. @throws Error if it takes longer */
  async equal(maxMs = 20_000): Promise<void> {
    const isEqual = (): boolean => {
      const contents = this.contents().map((commits) => commits.join());
      const areReady = this.members.every(({ postgres: { run } }) => run?.standby?.isReady ?? run?.letsIn);
      return areReady && contents.length === this.members.length && new Set(contents).size === 1;
    };
    if (await this.time.passUntil(isEqual, maxMs, lookMs)) return;
    const sizes = this.contents().map(({ length }) => length);
    throw new Error(
      `the databases differ after ${maxMs} ms: ${sizes.join(', ')} commits\n${this.describe()}`,
    );
  }

  describe(): string {
    return this.members
      .map(({ id, replica, process, postgres }) => {
        if (replica === null) return `${id}: ${process === null ? 'down' : 'joining'}`;
        const { role, state, message, commitPoint, applicationPointer, wal } = replica.status(0);
        const service = replica.service.service();
        const isUp = postgres.run === null ? 'down' : postgres.run.primary === null ? 'standby' : 'primary';
        return `${id}: ${role}, ${state} (${message ?? ''}), ${JSON.stringify(service)}, slots ${applicationPointer}/${commitPoint}, ${isUp}, ${JSON.stringify(wal)}`;
      })
      .join('\n');
  }

  /** The power fails everywhere. @throws Error if anything has happened that must not */
  async stop(): Promise<void> {
    for (const machine of this.machines) machine.crashMachine();
    await this.time.pass(1);
    if (this.troubles.length > 0) throw new Error(this.troubles.slice(0, 20).join('\n'));
  }
}
