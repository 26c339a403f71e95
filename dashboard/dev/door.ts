/**
 * The port at which one simulated replica is asked, whichever life of it answers: what is behind it may die, stand still and come back.
 *
 * Invariants: one that is dead ends its connections; one that stands still takes them and says nothing.
 */
import { connect, createServer, type Socket } from 'node:net';
import { listenOn } from '../../server/src/gateways/listen.ts';

const host = '127.0.0.1';

export interface Door {
  readonly port: number;
  /** To what listens on this port; null: to nobody. */
  leadTo(port: number | null): void;
  standStill(isStill: boolean): void;
  close(): void;
}

export async function openDoor(): Promise<Door> {
  const visitors = new Set<Socket>();
  let behind: number | null = null;
  let isStill = false;

  function admit(visitor: Socket): void {
    visitor.on('error', () => visitor.destroy());
    if (behind === null) {
      visitor.destroy();
      return;
    }
    const inside = connect({ host, port: behind });
    visitors.add(visitor);
    const end = (): void => {
      visitors.delete(visitor);
      visitor.destroy();
      inside.destroy();
    };
    visitor.once('close', end);
    inside.once('close', end);
    inside.on('error', end);
    visitor.on('data', (bytes) => inside.write(bytes));
    inside.on('data', (bytes) => visitor.write(bytes));
    if (isStill) visitor.pause();
  }

  const server = createServer(admit);
  const port = await listenOn(server, { host, port: 0 });
  const leadTo = (next: number | null): void => {
    behind = next;
    isStill = false;
    for (const visitor of visitors) visitor.destroy();
  };
  return {
    port,
    leadTo,
    standStill(wanted) {
      if (wanted === isStill) return;
      isStill = wanted;
      for (const visitor of visitors) {
        if (isStill) visitor.pause();
        else visitor.resume();
      }
    },
    close() {
      leadTo(null);
      server.close();
    },
  };
}
