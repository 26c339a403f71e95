/**
 * A log whose writes are measured, whichever store it is: from handing a group of records over to its being durable. The replica hands over one group at a time, so nothing else is in that time.
 */
import type { LogWrite } from '../gateways/http/metrics.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import type { LogStore } from '../ports/log-store.ts';

/** `onWritten` null: it could not be written. */
export function measuredLog(
  log: LogStore,
  onWritten: (write: LogWrite | null) => void,
  nowMs: () => number,
): LogStore {
  return {
    ...log,
    async append(records) {
      const beganMs = nowMs();
      try {
        await log.append(records);
      } catch (error) {
        onWritten(null);
        throw error;
      }
      onWritten({ ms: nowMs() - beganMs, records: records.length, bytes: payloadBytes(records) });
    },
  };
}

function payloadBytes(records: readonly LogRecord[]): number {
  let bytes = 0;
  for (const record of records) {
    if ((record.kind === 'vote' || record.kind === 'chosen') && record.entry.kind === 'command')
      bytes += record.entry.payload.byteLength;
  }
  return bytes;
}
