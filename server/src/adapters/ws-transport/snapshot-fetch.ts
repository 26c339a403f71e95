/**
 * Fetches a snapshot from a peer.
 *
 * Responsible for: the connection for it, back-pressure (what is not read from the stream is not read from the network), and telling a whole
 * snapshot from one that was cut off. Does not know what the bytes are.
 * Invariant: the stream ends well only if the end mark came and the bytes are as many as it says; anything else destroys it with a SnapshotError.
 */
import { Readable } from 'node:stream';
import { SnapshotError, type SnapshotErrorCode, type SnapshotStream } from '../../ports/snapshot.ts';
import { type DialOptions, dialPeer } from './dial.ts';
import { readSnapshotText } from './snapshot-texts.ts';

/** So much may wait to be read before the network is held back. */
const bufferBytes = 4 * 1024 * 1024;

/** @throws SnapshotError if the peer cannot be reached, refuses, or is not heard of in time */
export function fetchSnapshot(
  options: Omit<DialOptions, 'purpose'>,
  signal: AbortSignal,
): Promise<SnapshotStream> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(aborted(signal));
    let begun = false;
    let ended = false;
    let received = 0;
    let movedAtMs = performance.now();
    const { peer, limits } = options;

    const stream = new Readable({
      highWaterMark: bufferBytes,
      read: () => {
        movedAtMs = performance.now();
        if (dialled.socket.isPaused) dialled.socket.resume();
      },
      destroy: (error, done) => {
        dialled.socket.terminate();
        done(error);
      },
    });
    // It may fail before whoever asked for it has begun to read; they are told then.
    stream.on('error', () => {});
    const fail = (code: SnapshotErrorCode, message: string, cause?: unknown): void => {
      if (ended) return;
      ended = true;
      const error = new SnapshotError(code, `${peer.id}: ${message}`, { cause });
      dialled.socket.terminate();
      if (begun) stream.destroy(error);
      else reject(error);
    };
    const onText = (text: string): void => {
      const said = readSnapshotText(text);
      movedAtMs = performance.now();
      if (said === null) return fail('transferFailed', 'sent what is no part of a snapshot');
      if ('failure' in said) return fail(said.failure.code, said.failure.message);
      if ('begin' in said && !begun) {
        begun = true;
        return resolve({ ...said.begin, stream });
      }
      if (!('end' in said) || !begun) return fail('transferFailed', 'sent its texts out of order');
      if (said.end.bytes !== received)
        return fail('transferFailed', `sent ${said.end.bytes} bytes, and ${received} arrived`);
      ended = true;
      stream.push(null);
      // Paused, it would not read the other side's farewell.
      dialled.socket.resume();
      dialled.socket.close();
    };
    const onBinary = (data: Buffer): void => {
      if (!begun) return fail('transferFailed', 'sent its texts out of order');
      if (ended) return;
      received += data.byteLength;
      movedAtMs = performance.now();
      if (!stream.push(data)) dialled.socket.pause();
    };
    const onAbort = (): void => {
      const { message, cause } = aborted(signal);
      fail('transferFailed', message, cause);
    };
    // That the other side lives is seen by probes; this is about one that lives and does not move.
    const stallTimer = setInterval(() => {
      if (dialled.socket.isPaused) movedAtMs = performance.now();
      else if (performance.now() - movedAtMs > limits.snapshotStallMsMax)
        fail('transferFailed', `no bytes for ${Math.round(limits.snapshotStallMsMax / 1000)} s`);
    }, limits.probeMs);
    signal.addEventListener('abort', onAbort, { once: true });
    const dialled = dialPeer(
      { ...options, purpose: 'snapshot' },
      {
        onUp: () => {},
        onText,
        onBinary,
        onEnd: (reason) => {
          clearInterval(stallTimer);
          signal.removeEventListener('abort', onAbort);
          fail(begun ? 'transferFailed' : 'sourceUnavailable', reason);
        },
      },
    );
  });
}

function aborted(signal: AbortSignal): SnapshotError {
  return new SnapshotError('transferFailed', 'given up', { cause: signal.reason });
}
