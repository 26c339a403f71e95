/**
 * Gives a snapshot of this replica's PostgreSQL to peers that ask for one.
 *
 * Responsible for: how many at a time, back-pressure (the source is read no faster than the peer takes it), faults of
 * the link, and the end mark. Does not know what the bytes are, nor how fast they may leave: the source sets its own pace.
 * Invariant: the end mark is sent only after all bytes of a source that ended well; the source's stream is destroyed whatever happens.
 */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types.ts';
import { SnapshotError, type SnapshotSource } from '../../ports/snapshot.ts';
import type { FaultLayer } from './fault-layer.ts';
import type { TransportLimits } from './limits.ts';
import { failureOf, type SnapshotText } from './snapshot-texts.ts';

export interface SnapshotServer {
  offer(source: SnapshotSource): void;
  /** Over a connection that has proved to be `peer`'s. Never rejects. */
  serve(peer: ReplicaId, socket: WebSocket): Promise<void>;
  /** Ends what goes over links that are cut. */
  faultsChanged(): void;
  active(): number;
}

/** So much is on its way before the next piece waits for an answer: what a delay of the link slows down. */
const windowBytes = 1024 * 1024;
const pieceBytesMax = 256 * 1024;

export function createSnapshotServer(
  limits: TransportLimits,
  faults: Pick<FaultLayer, 'isCut' | 'holdUp'>,
): SnapshotServer {
  let offered: SnapshotSource | null = null;
  const active = new Map<WebSocket, ReplicaId>();

  const give = async (peer: ReplicaId, socket: WebSocket): Promise<void> => {
    if (offered === null)
      throw new SnapshotError('sourceUnavailable', 'this replica has no database to copy now');
    if (active.size > limits.snapshotsMax)
      throw new SnapshotError('sourceBusy', `gives ${limits.snapshotsMax} copies already`);
    const { stream, ...begin } = await offered.open();
    const onClose = (): void => void stream.destroy();
    socket.once('close', onClose);
    // Destroyed by the other side's end: an error that nobody waits for is not one of the process.
    stream.on('error', () => {});
    try {
      if (socket.readyState !== socket.OPEN) return;
      await tell(socket, { begin });
      const bytes = await pour(stream, socket, limits.snapshotStallMsMax, (newWindow) =>
        faults.holdUp(peer, newWindow),
      );
      await tell(socket, { end: { bytes } });
    } finally {
      socket.off('close', onClose);
      stream.destroy();
    }
  };

  return {
    offer(source) {
      offered = source;
    },
    async serve(peer, socket) {
      if (faults.isCut(peer)) return socket.terminate();
      active.set(socket, peer);
      try {
        await give(peer, socket);
      } catch (error) {
        if (socket.readyState === socket.OPEN) await tell(socket, failureOf(error)).catch(() => {});
      } finally {
        active.delete(socket);
        socket.close();
        // The other side closes too once it has read all; one that does not is cut off.
        const timer = setTimeout(() => socket.terminate(), limits.snapshotStallMsMax).unref();
        socket.once('close', () => clearTimeout(timer));
      }
    },
    faultsChanged() {
      for (const [socket, peer] of active) if (faults.isCut(peer)) socket.terminate();
    },
    active: () => active.size,
  };
}

/** Sends all of `stream` and returns how many bytes it was. @throws if either side fails or stands still */
async function pour(
  stream: Readable,
  socket: WebSocket,
  stallMsMax: number,
  holdUp: (newWindow: boolean) => number | null,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of pieces(stream)) {
    const window = Math.floor(bytes / windowBytes);
    bytes += chunk.byteLength;
    const heldUpMs = holdUp(Math.floor(bytes / windowBytes) > window);
    if (heldUpMs === null) throw new SnapshotError('transferFailed', 'the link is cut');
    if (heldUpMs > 0) await sleep(heldUpMs);
    await taken(socket, chunk, stallMsMax);
  }
  return bytes;
}

async function* pieces(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.byteLength; at += pieceBytesMax) yield chunk.subarray(at, at + pieceBytesMax);
  }
}

/** Resolves when the piece has left this process: no sooner, so that no more than one waits in memory. */
function taken(socket: WebSocket, chunk: Buffer, stallMsMax: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.terminate();
      reject(new SnapshotError('transferFailed', 'the other side takes no more'));
    }, stallMsMax);
    socket.send(chunk, { binary: true }, (error) => {
      clearTimeout(timer);
      if (error === undefined || error === null) resolve();
      else reject(error);
    });
  });
}

function tell(socket: WebSocket, text: SnapshotText): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(JSON.stringify(text), (error) =>
      error === undefined || error === null ? resolve() : reject(error),
    );
  });
}
