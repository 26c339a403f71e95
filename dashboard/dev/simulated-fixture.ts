/** A simulated group that can be looked at: founded, with something in its database, and clients at work; time stands still until it is played. */
import type { DashboardState } from '../../server/src/demo/dashboard-build.ts';
import { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import { Load } from '../sim/load.ts';
import { WrittenRows } from '../sim/written-rows.ts';
import { Pace } from './pace.ts';
import { startSimulatedDemo, type SimulatedDemo } from './simulated-demo.ts';

export interface FixtureOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly clients: number;
  readonly port: number;
  readonly dashboard: DashboardState | null;
  readonly say: (line: string) => void;
}

export interface SimulatedFixture {
  readonly group: MemoryGroup;
  readonly pace: Pace;
  readonly demo: SimulatedDemo;
  /** When the clients began. */
  readonly beganMs: number;
  close(): Promise<void>;
}

/** Pages of the database, and how long each few of them take to be copied: a copy can be watched. */
const pages = 600;
const copyMomentMs = 40;
/** What is seldom let go of can be looked into. */
const segmentBytes = 1024 * 1024;

export async function startFixture({
  seed,
  replicas,
  clients,
  ...options
}: FixtureOptions): Promise<SimulatedFixture> {
  const group = new MemoryGroup({ replicas, seed, segmentBytes });
  for (const { postgres } of group.members) postgres.copyMomentMs = copyMomentMs;
  const demo = await startSimulatedDemo({ group, ...options });
  await group.begin();
  const load = new Load(group, { sessions: demo.sessions, clients, rows: new WrittenRows(group) });
  await group.time.until(load.fill(pages));
  const pace = new Pace(group.time);
  load.begin();
  let isOpen = true;
  const passing = group.time.passUntil(() => !isOpen, Number.POSITIVE_INFINITY, 10);
  return {
    group,
    pace,
    demo,
    beganMs: group.time.nowMs(),
    async close() {
      await demo.close();
      isOpen = false;
      pace.release();
      await passing;
    },
  };
}
