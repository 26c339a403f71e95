/** How a session reads after a request that says something of it. Pure. */
import type { GatewayError } from '../../../../pgwire/backend-messages.ts';
import { followed, type ReadConsistency, readModes, stricter } from '../../codec/read-consistency.ts';
import * as errors from '../../errors.ts';
import type { ReadRequest } from './request-reader.ts';

export interface Following {
  readonly before: ReadConsistency;
  /** What the session began with. */
  readonly begun: ReadConsistency;
  /** The session is idle, and in no transaction. */
  readonly mayChange: boolean;
}

/** Returns why the request cannot be let through, where it cannot. */
export function followMention(
  { mention, isLoneStatement }: Pick<ReadRequest, 'mention' | 'isLoneStatement'>,
  { before, begun, mayChange }: Following,
): ReadConsistency | GatewayError {
  if (mention === null || mention.kind === 'end') return before;
  if (mention.kind === 'all' && mayChange) return begun;
  // Whether PostgreSQL does it, and whether that stays, is not known: what is asked for by either is had.
  if (mention.kind === 'all' || mention.kind === 'perhapsAll') return stricter(before, begun);
  if (mention.kind === 'other' || !isLoneStatement) return errors.readSettingHidden;
  if (!mayChange) return errors.readSettingInTransaction;
  const next = followed(before, begun, mention);
  if ('value' in next) return errors.wrongReadSetting(next.name, next.value, readModes);
  return next.mode === 'leader' ? errors.readModeAtStart : next;
}
