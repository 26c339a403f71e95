/**
 * The demo over a group of whole replicas in simulated time: its supervisor, its server and each replica's gateway are the product's, only the machines are not.
 *
 * Responsible for: which part of the demo stands on which part of the group, and whatever of them lives in wall time. How time passes is pace.ts; what the group is in for is whoever's who made it.
 */
import { pino } from 'pino';
import type { DashboardState } from '../../server/src/demo/dashboard-build.ts';
import { startDemoServer } from '../../server/src/demo/demo-server.ts';
import type { ReplicaPlan } from '../../server/src/demo/layout.ts';
import { createReplicaMonitor } from '../../server/src/demo/replica-monitor.ts';
import { Supervisor } from '../../server/src/demo/supervisor.ts';
import { startHttpGateway, type HttpGateway } from '../../server/src/gateways/http/http-gateway.ts';
import { createMetrics } from '../../server/src/gateways/http/metrics.ts';
import { createOperatorAccess } from '../../server/src/gateways/http/operator-access.ts';
import { adminToken } from '../../server/src/main/admin-token.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { configOf } from '../../server/src/replica/testing/configurations.ts';
import type { MemberProcess } from '../../server/src/replica/testing/member-process.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import { openDoor, type Door } from './door.ts';
import { runModelSql } from '../sim/model-sql.ts';
import { ClientSessions } from '../sim/sessions.ts';
import { createSimulatedMachine, type SimulatedMachine } from '../sim/simulated-machine.ts';
import { serveLife } from '../sim/simulated-replica.ts';

const firstPid = 4000;
/** How often it is looked at whether a process stands still. */
const stillnessMs = 25;

export interface SimulatedDemoOptions {
  /** Not begun yet. */
  readonly group: MemoryGroup;
  /** 0: any. */
  readonly port: number;
  readonly dashboard: DashboardState | null;
  readonly say: (line: string) => void;
}

export interface SimulatedDemo {
  readonly port: number;
  readonly supervisor: Supervisor;
  readonly sessions: ClientSessions;
  close(): Promise<void>;
}

interface Place {
  readonly door: Door;
  readonly plan: ReplicaPlan;
  readonly machine: SimulatedMachine;
  gateway: Promise<HttpGateway> | null;
}

export async function startSimulatedDemo(options: SimulatedDemoOptions): Promise<SimulatedDemo> {
  const { group, say } = options;
  const logger = pino({ level: 'silent' });
  const sessions = new ClientSessions(() => group.time.nowMs());
  const doors = await Promise.all(group.ids.map(async (id) => [id, await openDoor()] as const));
  const plans = doors.map(([id, door]) => planOf(id, door.port));
  const places = new Map<ReplicaId, Place>();
  const supervisor = new Supervisor({
    plans,
    monitorOf: createReplicaMonitor,
    autoRestart: false,
    say,
    onChildren: () => undefined,
    machineOf: (plan, onExit) => {
      const machine = createSimulatedMachine(
        plan,
        { member: group.member(plan.id), time: group.time },
        onExit,
      );
      const [, door] = doors.find(([id]) => id === plan.id)!;
      places.set(plan.id, { door, plan, machine, gateway: null });
      return machine;
    },
  });
  let pids = firstPid;
  group.observer = {
    onStarted(id, process) {
      const place = places.get(id)!;
      pids += 1;
      place.machine.started(pids);
      place.gateway = open(place, process, pids);
    },
    onEnded(id) {
      const place = places.get(id)!;
      const { gateway } = place;
      place.door.leadTo(null);
      place.gateway = null;
      void gateway?.then((one) => one.close());
      place.machine.ended();
    },
  };

  async function open(place: Place, process: MemberProcess, pid: number): Promise<HttpGateway> {
    const { plan, door } = place;
    const member = group.member(plan.id);
    const { config } = member;
    const replica = serveLife({ member, process, config, pid, httpPort: door.port, sessions });
    const metrics = createMetrics(() => replica.status());
    process.onAgreed = (ms) => metrics.latencies.agreement(ms);
    const gateway = await startHttpGateway({
      listen: { host: '127.0.0.1', port: 0 },
      replica,
      metrics,
      faultsAllowed: true,
      access: createOperatorAccess({ tokens: () => [adminToken(config.clusterSecret)] }),
      open: 'all',
      logger,
    });
    if (member.process === process) door.leadTo(gateway.port);
    return gateway;
  }

  const { clusterSecret } = configOf(group.ids[0]!, group.ids);
  const server = await startDemoServer({
    port: options.port,
    supervisor,
    clusterSecret,
    runSql: ({ id }, sql) => runModelSql(group, id, sql),
    dashboard: () => options.dashboard,
    logger,
  });
  const following = setInterval(() => {
    for (const { door, machine } of places.values()) door.standStill(machine.state() === 'paused');
  }, stillnessMs);
  return {
    port: server.port,
    supervisor,
    sessions,
    async close() {
      clearInterval(following);
      group.observer = null;
      await server.close();
      for (const monitor of supervisor.monitors()) monitor.close();
      for (const { door, gateway } of places.values()) {
        door.close();
        await (await gateway)?.close();
      }
    },
  };
}

function planOf(id: ReplicaId, httpPort: number): ReplicaPlan {
  const nowhere = { dir: '/nowhere', configFile: '/nowhere', logFile: 'nowhere' };
  return { id, httpPort, pgwirePort: 7100 + Number(id.slice(1)), peerPort: 0, thriftPort: null, ...nowhere };
}
