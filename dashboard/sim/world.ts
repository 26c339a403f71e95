/**
 * A group of whole replicas in simulated time, with clients at work and somebody who breaks it: the demo without a server, in one process, and in a browser as well.
 *
 * Responsible for: which part of the demo stands on which part of the group; what is told of it, at times of its own clock; what is asked of it. How fast its time passes is pacer.ts.
 * Invariant: what happens depends on the seed, the setup and the acts alone. Whoever looks on changes nothing.
 */
import { forced } from '../../server/src/api/status.ts';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { SlotAnswer, SlotRefusal } from '../../server/src/api/wal-summary.ts';
import type { ReplicaPlan } from '../../server/src/demo/layout.ts';
import { RateWindows } from '../../server/src/demo/rates.ts';
import { Supervisor } from '../../server/src/demo/supervisor.ts';
import { LatencyCounts } from '../../server/src/gateways/http/latency-buckets.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { Frame } from '../src/model/frames.ts';
import type { Deed } from '../src/run/simulated/acts.ts';
import { Load, readShare } from './load.ts';
import { runModelSql } from './model-sql.ts';
import { createSimulatedMonitor, type Life, type SimulatedMonitor } from './monitors.ts';
import type { RunSetup } from '../src/run/simulated/run-address.ts';
import { ClientSessions } from './sessions.ts';
import { createSimulatedMachine, type SimulatedMachine } from './simulated-machine.ts';
import { serveLife } from './simulated-replica.ts';
import { WrittenRows } from './written-rows.ts';

/** Pages of the database, and how long each few of them take to be copied: a copy can be watched. */
const pages = 600;
const copyMomentMs = 40;
/** What is seldom let go of can be looked into. */
const segmentBytes = 1024 * 1024;
/** A replica that is away for a minute of clients' writes needs a copy. */
const logBytesMax = 3 * segmentBytes;
/** Of a minute or so: a page may be left open for hours. */
const keeps = { outcomes: 10_000n, commitsBytes: segmentBytes, walBytes: segmentBytes };
/** People may break the group while it is filled. */
const fillMsMax = 600_000;
const firstPid = 4000;
/** How often replicas are asked, and what is told of them. */
const tellMs = 100;
const ratesMs = 1000;
const loadMs = 500;
/** Of each client, about. */
const requestsPerSecond = 10;
const groupName = 'simulated';

export interface WorldListener {
  /** `atMs`: on the world's clock. */
  readonly onFrames: (frames: readonly Frame[], atMs: number) => void;
  /** What must not be: the model or a replica found something that cannot be right. */
  readonly onTrouble: (text: string) => void;
}

interface Place {
  readonly machine: SimulatedMachine;
  life: Life | null;
}

/** In the shapes of the demo's API: an answer, or `{error: {code, message}}`. */
export type Answer = object;

export class World {
  readonly group: MemoryGroup;
  /** Events that were told since it began. */
  told = 0;
  /** When its clients began; null: they have not yet. */
  beganMs: number | null = null;
  private readonly setup: RunSetup;
  private readonly listener: WorldListener;
  private readonly sessions: ClientSessions;
  private readonly supervisor: Supervisor;
  private readonly places = new Map<ReplicaId, Place>();
  private readonly monitors: SimulatedMonitor[] = [];
  private readonly rates = new RateWindows();
  private readonly rows: WrittenRows;
  private pids = firstPid;
  private events: TraceEvent[] = [];
  private tellings = 0;

  constructor(setup: RunSetup, listener: WorldListener) {
    const { seed, replicas } = setup;
    this.setup = setup;
    this.listener = listener;
    this.group = new MemoryGroup({
      replicas,
      seed,
      segmentBytes,
      config: { bounds: { logBytesMax } },
      keeps,
    });
    const { group } = this;
    this.rows = new WrittenRows(group);
    for (const { postgres } of group.members) postgres.copyMomentMs = copyMomentMs;
    this.sessions = new ClientSessions(() => group.time.nowMs());
    this.supervisor = this.supervise();
    group.observer = {
      onStarted: (id, process) => {
        const place = this.places.get(id)!;
        this.pids += 1;
        const member = group.member(id);
        place.machine.started(this.pids);
        const life = { member, process, config: member.config, pid: this.pids, httpPort: 0 };
        const replica = serveLife({ ...life, sessions: this.sessions });
        const latencies = new LatencyCounts();
        process.onAgreed = (ms) => latencies.observe(ms);
        process.events.subscribe((event) => this.note(event), 'watching');
        place.life = { replica, latencies };
      },
      onEnded: (id) => {
        const place = this.places.get(id)!;
        place.life = null;
        place.machine.ended();
      },
    };
  }

  private supervise(): Supervisor {
    const { group, places } = this;
    return new Supervisor({
      plans: group.ids.map(planOf),
      autoRestart: false,
      say: () => undefined,
      onChildren: () => undefined,
      machineOf: (plan, onExit) => {
        const member = group.member(plan.id);
        const machine = createSimulatedMachine(plan, { member, time: group.time }, onExit);
        places.set(plan.id, { machine, life: null });
        return machine;
      },
      monitorOf: (plan, onStatus) => {
        const life = (): Life | null => {
          const place = places.get(plan.id);
          return place?.machine.state() === 'running' ? place.life : null;
        };
        const monitor = createSimulatedMonitor(plan, { life, nowMs: () => group.time.nowMs() }, onStatus);
        this.monitors.push(monitor);
        return monitor;
      },
    });
  }

  private note(event: TraceEvent): void {
    this.events.push(event);
    this.told += 1;
  }

  /** Founds the group, fills its database, and sends the clients; then time passes until that holds. @throws Error if the group does not come up */
  async live(isOver: () => boolean): Promise<void> {
    const { group, setup } = this;
    const { time } = group;
    time.every(tellMs, () => this.tell());
    await group.begin();
    const load = new Load(group, { sessions: this.sessions, clients: setup.clients, rows: this.rows });
    await time.until(load.fill(pages), fillMsMax);
    load.begin();
    this.beganMs = time.nowMs();
    await time.passUntil(isOver, Number.POSITIVE_INFINITY, tellMs);
  }

  private tell(): void {
    const { group, monitors, listener } = this;
    const atMs = group.time.nowMs();
    for (const monitor of monitors) monitor.look();
    this.tellings += 1;
    const frames = this.happened();
    frames.push(this.cluster());
    if (this.tellings % (ratesMs / tellMs) === 0) {
      const readings = monitors.map((monitor) => [monitor.plan.id, monitor.reading()] as const);
      frames.push({ type: 'rates', at: atMs, perReplica: this.rates.next(readings) });
    }
    if (this.tellings % (loadMs / tellMs) === 0 && this.beganMs !== null) frames.push(this.load());
    listener.onFrames(frames, atMs);
    for (const trouble of group.troubles.splice(0)) listener.onTrouble(trouble);
  }

  private cluster(): Frame {
    const replicas = this.supervisor.cluster();
    return { type: 'cluster', cluster: { group: groupName, check: null, replicas } };
  }

  private load(): Frame {
    const { clients } = this.setup;
    this.rows.look();
    const perSecond = clients * requestsPerSecond;
    return {
      type: 'load',
      load: this.rows.status({ isRunning: clients > 0, clients, perSecond, readShare }),
    };
  }

  private happened(): Frame[] {
    const { events } = this;
    this.events = [];
    return events.length === 0 ? [] : [{ type: 'events', events }];
  }

  /** What has not been told yet, between two tellings. */
  tellNow(): void {
    for (const monitor of this.monitors) monitor.glance();
    this.listener.onFrames([...this.happened(), this.cluster()], this.group.time.nowMs());
  }

  /** Begins now; time must pass until it is done. Never rejects. */
  async act(deed: Deed): Promise<Answer> {
    if (deed.action === 'sql') return runModelSql(this.group, deed.replica, deed.sql);
    if (deed.action === 'verify') {
      const answer = await this.group.serving()?.replica?.admin.verify({ repair: deed.repair });
      if (answer === undefined) return refusal('unavailable', 'No leader is known. Try again in a moment.');
      return answer.ok ? answer.answer : { error: answer.error };
    }
    // Nothing is lost with a simulated group, and an address says what was done.
    const outcome = await this.supervisor.fault(forced(deed));
    return outcome.ok ? outcome : refusal(outcome.code, outcome.message);
  }

  /** What a slot holds, of the first replica that can tell. Time must stand still meanwhile. */
  async slot(slot: number): Promise<SlotAnswer | SlotRefusal> {
    let answer: SlotAnswer | SlotRefusal = {
      error: { code: 'unavailable', message: 'No replica answers.' },
    };
    for (const [id, { life, machine }] of this.places) {
      if (life === null || machine.state() !== 'running') continue;
      const found = await this.group.member(id).lookedInto(() => life.replica.readSlot(slot as Slot));
      if (!('error' in found)) return found;
      answer = found;
    }
    return answer;
  }
}

function refusal(code: string, message: string): Answer {
  return { error: { code, message } };
}

function planOf(id: ReplicaId): ReplicaPlan {
  const nowhere = { dir: '/nowhere', configFile: '/nowhere', logFile: 'nowhere' };
  const pgwirePort = 7100 + Number(id.slice(1));
  return { id, httpPort: 0, pgwirePort, peerPort: 0, thriftPort: null, ...nowhere };
}
