/** Streams of clients as a tracker sees them. */
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { RequestTracker } from '../session/request-tracker.ts';
import { cuts } from './frames.ts';

export function sends(tracker: RequestTracker, ...messages: readonly Buffer[]): void {
  sendsInChunks(tracker, [Buffer.concat(messages)]);
}

export function sendsInChunks(tracker: RequestTracker, chunks: readonly Buffer[]): void {
  const splitter = new FrameSplitter(1 << 20);
  for (const chunk of chunks) {
    splitter.feed(chunk);
    while (splitter.next()) tracker.sent(splitter, chunk);
  }
}

/** The same, in every way of cutting it. */
export function* inPieces(...messages: readonly Buffer[]): Generator<RequestTracker> {
  for (const chunks of cuts(Buffer.concat(messages))) {
    const tracker = new RequestTracker();
    sendsInChunks(tracker, chunks);
    yield tracker;
  }
}

export function started(): RequestTracker {
  const tracker = new RequestTracker();
  tracker.startedUp();
  tracker.told(1, 'I');
  return tracker;
}

export function inBlock(): RequestTracker {
  const tracker = started();
  sends(tracker, send.query('BEGIN'));
  tracker.told(1, 'T');
  return tracker;
}

/** Without a Sync. */
export function run(sql: string): Buffer {
  return Buffer.concat([send.parse('', sql), send.bind({ portal: '', statement: '' }), send.execute('')]);
}
