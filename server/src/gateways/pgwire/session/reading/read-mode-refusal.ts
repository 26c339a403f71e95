/**
 * What a session on the leader is told that asks, too late, to be answered by a replica's own standby. Pure.
 *
 * Looks at every chunk of a client of the leader, so it must be quick: few have the setting's name. A statement among others is let through, and has no effect.
 */
import { consistencyOf } from '../../codec/read-consistency.ts';
import type { StartupMessage } from '../../codec/startup.ts';
import * as errors from '../../errors.ts';
import { raisingQuery } from './raising-query.ts';
import { RequestReader } from './request-reader.ts';

const chunkBytesMax = 1024;

/** What PostgreSQL is sent in the place of `chunk`, which begins between two messages, so that it fails; null: it may pass. */
export function readModeRefusal(chunk: Buffer, startup: StartupMessage): Buffer | null {
  if (chunk.length > chunkBytesMax || !chunk.includes('read_consistency')) return null;
  const { mention, isLoneStatement, readies } = new RequestReader(chunkBytesMax).read(chunk);
  if (mention?.kind !== 'change' || mention.name !== 'barista.read_consistency') return null;
  if (!isLoneStatement || readies !== 1) return null;
  const wanted = mention.value?.toLowerCase() ?? null;
  if (wanted === null || wanted === 'leader') return null;
  const begun = consistencyOf(startup);
  // Where this replica leads, one that reads is on the leader as well, whatever it asks for.
  const isReader = !('value' in begun) && begun.mode !== 'leader';
  return isReader ? null : raisingQuery(errors.readModeAtStart);
}
