/** The run of a live cluster: the stream of the server that served the page, and requests to that server. Its clock is the page's; its time cannot be held. */
import { serverRequests } from './api.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import type { RunSource } from '../run/source.ts';

/** `url`: of the stream. */
export function liveSource(url: string): RunSource {
  let client: StreamClient | null = null;
  return {
    kind: 'live',
    title: 'This cluster',
    subscribe(listener) {
      client = openStream(url, {
        onFrame: (frame) => listener.onFrames([frame], Date.now()),
        onConnection: listener.onConnection,
      });
      return client.stop;
    },
    nowMs: () => Date.now(),
    requests: serverRequests,
    world: null,
    retryNow: () => client?.retryNow(),
  };
}
