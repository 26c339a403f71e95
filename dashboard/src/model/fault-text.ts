/** A fault request in words, as what was done. */
import type { FaultRequest } from '../../../server/src/api/status.ts';
import { unreachable } from './unreachable.ts';

const wiped = { both: 'the disk', log: 'the log', database: 'the PostgreSQL' } as const;

export function spellRequest(request: FaultRequest): string {
  switch (request.action) {
    case 'crash':
      return `Killed ${request.replica}`;
    case 'pause':
      return `Paused ${request.replica}`;
    case 'resume':
      return `Resumed ${request.replica}`;
    case 'restart':
      return `Restarted ${request.replica}`;
    case 'killPostgres':
      return `Killed PostgreSQL of ${request.replica}`;
    case 'wipe':
      return `Wiped ${wiped[request.what]} of ${request.replica}`;
    case 'isolate':
      return `Isolated ${request.replica}`;
    case 'heal':
      return 'Healed all links';
    case 'cut':
      return `${request.from} → ${request.to}: ${request.amount === 0 ? 'reconnected' : 'cut'}`;
    case 'delay':
      return `${request.from} → ${request.to}: ${request.amount === 0 ? 'no delay' : `${request.amount} ms of delay`}`;
    case 'drop':
    case 'duplicate': {
      const name = request.action === 'drop' ? 'dropped' : 'duplicated';
      const percent = Math.round(request.amount * 100);
      return `${request.from} → ${request.to}: ${percent === 0 ? `nothing ${name}` : `${percent}% ${name}`}`;
    }
    default:
      return unreachable(request);
  }
}
