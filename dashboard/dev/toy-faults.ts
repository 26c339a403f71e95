/** Development only. Breaks the toy cluster the way that the demo's supervisor breaks a real one. */
import type { FaultRequest, LinkFault } from '../../server/src/api/status.ts';
import type { ToyRecovery } from './toy-recovery.ts';
import { noFault } from './toy-replica.ts';
import type { ConsensusBody, EventBody, ToyReplica } from './toy-replica.ts';

interface FaultContext {
  readonly replicas: readonly ToyReplica[];
  readonly nowMs: () => number;
  readonly emit: (replica: ToyReplica, body: EventBody) => void;
  readonly core: (replica: ToyReplica, body: ConsensusBody) => void;
  readonly stepDown: (replica: ToyReplica, reason: 'quorumLost') => void;
  readonly resetElection: (replica: ToyReplica) => void;
  readonly dropMessagesTo: (replica: ToyReplica) => void;
}

/** The function returned gives back what is wrong with a request, or null. */
export function createFaults(context: FaultContext): (request: FaultRequest) => string | null {
  const { replicas, nowMs, emit, core, stepDown, resetElection, dropMessagesTo } = context;
  const find = (id: string): ToyReplica | undefined => replicas.find((replica) => replica.id === id);

  const setLink = (from: ToyReplica, to: ToyReplica, change: Partial<LinkFault>): void => {
    const fault = { from: from.id, to: to.id, ...noFault, ...from.faults.get(to.id), ...change };
    from.faults.set(to.id, fault);
    emit(from, {
      layer: 'operation',
      name: 'FaultChanged',
      description: `${from.id} → ${to.id}: ${JSON.stringify(change)}`,
    });
  };

  const stop = (replica: ToyReplica): void => {
    replica.process = 'stopped';
    replica.postgresUp = false;
    replica.role = 'follower';
    replica.serving = false;
    dropMessagesTo(replica);
  };

  const start = (replica: ToyReplica): void => {
    replica.process = 'running';
    replica.pid += 101;
    replica.run = `run-${replica.index + 1}-${Number(replica.run.split('-')[2]) + 1}`;
    replica.seq = 0;
    replica.leader = null;
    replica.applied = Math.max(0, replica.applied - 9);
    replica.postgresUpAtMs = nowMs() + 700;
    resetElection(replica);
    emit(replica, { layer: 'operation', name: 'ReplicaStarted', pid: replica.pid });
    core(replica, { name: 'Restart' });
  };

  const wipe = (replica: ToyReplica, what: ToyRecovery['what']): void => {
    stop(replica);
    start(replica);
    const source = replicas.find((other) => other !== replica && other.role !== 'leader') ?? replica;
    if (what !== 'database') {
      replica.incarnation += 1;
      replica.log.clear();
    }
    if (what !== 'log') replica.postgresUpAtMs = Number.POSITIVE_INFINITY;
    replica.recovery = { what, source: source.id, beganMs: nowMs() };
  };

  const faultReplica = (replica: ToyReplica, action: string): void => {
    if (action === 'crash') stop(replica);
    if (action === 'pause') replica.process = 'paused';
    if (action === 'resume') {
      replica.process = 'running';
      if (replica.role === 'leader') stepDown(replica, 'quorumLost');
    }
    if (action === 'restart') {
      stop(replica);
      start(replica);
    }
    if (action === 'killPostgres') {
      replica.postgresUp = false;
      replica.postgresUpAtMs = nowMs() + 2500;
      emit(replica, { layer: 'apply', name: 'DatabaseDown', reason: 'the postmaster ended: signal 9' });
    }
    if (action === 'isolate') {
      for (const peer of replicas.filter((other) => other !== replica)) {
        setLink(replica, peer, { cut: true });
        setLink(peer, replica, { cut: true });
      }
    }
  };

  return (request: FaultRequest): string | null => {
    if (request.action === 'heal') {
      for (const replica of replicas) replica.faults.clear();
      return null;
    }
    if ('replica' in request) {
      const replica = find(request.replica);
      if (replica === undefined) return `there is no replica ${request.replica}`;
      if (request.action === 'wipe') {
        wipe(replica, request.what);
        return null;
      }
      faultReplica(replica, request.action);
      return null;
    }
    const from = find(request.from);
    const to = find(request.to);
    if (from === undefined || to === undefined || from === to) return 'there is no such link';
    if (request.action === 'cut') setLink(from, to, { cut: request.amount !== 0 });
    if (request.action === 'delay') setLink(from, to, { delayMs: request.amount ?? 200 });
    if (request.action === 'drop') setLink(from, to, { drop: request.amount ?? 0.3 });
    if (request.action === 'duplicate') setLink(from, to, { duplicate: request.amount ?? 0.3 });
    return null;
  };
}
