/** What lives as long as a replica's process, whoever the replica is; and what the process asks of the replica, whatever travels. Does nothing. */
import type { ReplicaMeasures } from '../api/measures.ts';
import type { ReplicaStatus } from '../api/status.ts';
import type { WsTransport } from '../adapters/ws-transport/ws-transport.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { HttpAdmin } from '../gateways/http/admin-routes.ts';
import type { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import type { Joining } from '../replica/members/joining.ts';
import type { ReplicaEvents } from '../replica/status/events.ts';
import type { SlotReader } from '../replica/status/slot-reader.ts';
import type { ServeContext } from './serve.ts';
import type { ServiceDoor } from './service-door.ts';
import type { SessionsDoor } from './sessions-door.ts';

export interface RunningReplica {
  status(clients: number): ReplicaStatus;
  measures(): ReplicaMeasures;
  readonly admin: HttpAdmin;
  readonly readSlot: SlotReader;
  /** While clients are there still. */
  beforeStop(): Promise<void>;
  stop(): Promise<void>;
}

export interface Frame {
  readonly config: ReplicaConfig;
  readonly context: ServeContext;
  readonly transport: WsTransport;
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  /** Of a replica whose WAL travels. */
  readonly door: ServiceDoor;
  /** Of one whose statements do. */
  readonly sessions: SessionsDoor;
  /** Null until it is in its group. */
  running: RunningReplica | null;
  joining: Joining | null;
  stopping: boolean;
}
