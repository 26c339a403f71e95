/**
 * Opens channels to peers for copies of their databases: the dialler's side.
 *
 * Responsible for: the connection, and waiting until the other side is ready or refuses. What is said over the channel is its user's business.
 */
import type { Duplex } from 'node:stream';
import { CopyError } from '../../ports/copy.ts';
import { CopyChannel } from './copy-channel.ts';
import { readCopyText } from './copy-texts.ts';
import { type DialOptions, dialPeer } from './dial.ts';
import type { FaultLayer } from './fault-layer.ts';

export interface CopyDialler {
  /** The channel is destroyed when the signal says so. @throws CopyError if the peer cannot be reached, refuses, or is not heard of in time */
  open(options: Omit<DialOptions, 'purpose'>, signal: AbortSignal): Promise<Duplex>;
  /** Ends what goes over links that are cut. */
  faultsChanged(): void;
  close(): void;
}

export function createCopyDialler(faults: Pick<FaultLayer, 'isCut' | 'holdUp'>): CopyDialler {
  const active = new Set<CopyChannel>();
  return {
    open: (options, signal) =>
      openChannel(options, faults, signal).then((channel) => {
        active.add(channel);
        channel.once('close', () => active.delete(channel));
        return channel;
      }),
    faultsChanged() {
      for (const channel of active) if (faults.isCut(channel.peer)) channel.fail('the link is cut');
    },
    close() {
      for (const channel of active) channel.fail('this replica stops');
    },
  };
}

function openChannel(
  options: Omit<DialOptions, 'purpose'>,
  faults: Pick<FaultLayer, 'holdUp'>,
  signal: AbortSignal,
): Promise<CopyChannel> {
  const { peer, limits } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(givenUp(signal));
    let channel: CopyChannel | null = null;
    const refuse = (error: CopyError): void => {
      stop();
      dialled.socket.terminate();
      reject(error);
    };
    const begin = (text: string): void => {
      const said = readCopyText(text);
      if (said !== null && 'failure' in said) {
        const { code, message } = said.failure;
        return refuse(new CopyError(code, `${peer.id}: ${message}`));
      }
      if (said === null || !('begin' in said)) {
        return refuse(new CopyError('transferFailed', `${peer.id}: sent its texts out of order`));
      }
      clearTimeout(timer);
      channel = new CopyChannel(dialled.socket, { peer: peer.id, limits, faults });
      channel.once('close', stop);
      resolve(channel);
    };
    const onAbort = (): void => {
      if (channel === null) refuse(givenUp(signal));
      else channel.destroy(givenUp(signal));
    };
    const timer = setTimeout(() => {
      refuse(new CopyError('sourceUnavailable', `${peer.id}: does not answer`));
    }, limits.copyStallMsMax);
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const dialled = dialPeer(
      { ...options, purpose: 'copy' },
      {
        onUp: () => {},
        onText: (text) => (channel === null ? begin(text) : channel.onText(text)),
        onBinary: (data) => {
          if (channel === null)
            refuse(new CopyError('transferFailed', `${peer.id}: sent its texts out of order`));
          else channel.onBinary(data);
        },
        onEnd: (reason) => {
          if (channel === null) refuse(new CopyError('sourceUnavailable', `${peer.id}: ${reason}`));
          else channel.onEnd(reason);
        },
      },
    );
  });
}

function givenUp(signal: AbortSignal): CopyError {
  return new CopyError('transferFailed', 'given up', { cause: signal.reason });
}
