/** Finds the session that a CancelRequest means, by the key that PostgreSQL gave to its client. */
import { connect } from 'node:net';
import { cancelForBackend, cancelForLeader } from '../codec/startup.ts';
import type { CancelGuard } from '../session/cancel-guard.ts';

export interface CancelRegistry {
  add(key: Buffer, socketPath: string, guard: CancelGuard): () => void;
  /** True if the session is one of ours. */
  cancel(key: Buffer): boolean;
}

const cancelTimeoutMs = 5_000;

/** Resolves when the other end has closed the connection: PostgreSQL has signalled the backend by then. */
const deliver = (target: { path: string } | { host: string; port: number }, packet: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(target);
    socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
    socket.on('connect', () => socket.write(packet));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve());
    socket.resume();
  });

export const createCancelRegistry = (): CancelRegistry => {
  const sessions = new Map<string, { readonly socketPath: string; readonly guard: CancelGuard }>();
  return {
    add(key, socketPath, guard) {
      const name = key.toString('hex');
      const entry = { socketPath, guard };
      sessions.set(name, entry);
      return () => {
        if (sessions.get(name) === entry) sessions.delete(name);
      };
    },
    cancel(key) {
      const session = sessions.get(key.toString('hex'));
      if (session === undefined) return false;
      void session.guard.request(() => deliver({ path: session.socketPath }, cancelForBackend(key)));
      return true;
    },
  };
};

export const forwardCancel = (
  leader: { readonly host: string; readonly port: number },
  key: Buffer,
): Promise<void> => deliver({ host: leader.host, port: leader.port }, cancelForLeader(key));
