/**
 * Lets peers copy this replica's database: the listener's side of the channels.
 *
 * Responsible for: how many at a time, refusals, and links that are cut. What is said over a channel is the source's business.
 */
import type { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { CopyError, type CopySource } from '../../ports/copy.ts';
import { CopyChannel } from './copy-channel.ts';
import { type CopyText, failureOf } from './copy-texts.ts';
import type { FaultLayer } from './fault-layer.ts';
import type { TransportLimits } from './limits.ts';

export interface CopyServer {
  offer(source: CopySource): void;
  /** Over a connection that has proved to be `peer`'s. */
  serve(peer: ReplicaId, socket: WebSocket): void;
  /** Ends what goes over links that are cut. */
  faultsChanged(): void;
}

export function createCopyServer(
  limits: TransportLimits,
  faults: Pick<FaultLayer, 'isCut' | 'holdUp'>,
): CopyServer {
  let offered: CopySource | null = null;
  const active = new Set<CopyChannel>();

  const refuse = (socket: WebSocket, error: CopyError): void => {
    say(socket, failureOf(error));
    socket.close();
    // The other side closes too once it has read it; one that does not is cut off.
    setTimeout(() => socket.terminate(), limits.silenceMsMax).unref();
  };

  return {
    offer(source) {
      offered = source;
    },
    serve(peer, socket) {
      if (faults.isCut(peer)) return socket.terminate();
      if (offered === null) {
        return refuse(socket, new CopyError('sourceUnavailable', 'this replica has no database to copy now'));
      }
      if (active.size >= limits.copiesMax) {
        return refuse(socket, new CopyError('sourceBusy', `gives ${limits.copiesMax} copies already`));
      }
      const channel = new CopyChannel(socket, { peer, limits, faults });
      active.add(channel);
      channel.once('close', () => active.delete(channel));
      socket.on('message', (data, isBinary) => {
        if (isBinary) channel.onBinary(data as Buffer);
        else channel.onText((data as Buffer).toString('utf8'));
      });
      socket.on('close', () => channel.onEnd('connection closed'));
      say(socket, { begin: true });
      void offered.serve(channel).finally(() => channel.release());
    },
    faultsChanged() {
      for (const channel of active) if (faults.isCut(channel.peer)) channel.fail('the link is cut');
    },
  };
}

function say(socket: WebSocket, text: CopyText): void {
  socket.send(JSON.stringify(text), () => {});
}
