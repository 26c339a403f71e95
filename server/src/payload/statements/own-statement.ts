/**
 * Statements of our own in a client's session, by messages: that of the client without a name stays. Pure.
 *
 * Each is closed ahead of its Parse, too: where one fails PostgreSQL passes over all that comes behind it, so that the statement stays prepared.
 */
import * as send from '../../pgwire/frontend-messages.ts';
import type { Expected } from './request-plan.ts';

export const ownName = 'pg_barista_own';
const closeOwn = send.closeStatement(ownName);

/** Answered with CloseComplete and ParseComplete. */
function parseOwn(sql: string | Buffer): Buffer {
  return Buffer.concat([closeOwn, send.parse(ownName, sql)]);
}

/** A call that is run by messages, and leaves nothing behind. */
export function ownCall(sql: string): readonly (readonly [Buffer, Expected['of']])[] {
  return [
    [closeOwn, 'close'],
    [send.parse(ownName, sql), 'parse'],
    [send.bind({ portal: ownName, statement: ownName }), 'bind'],
    [send.execute(ownName), 'execute'],
    [send.closePortal(ownName), 'close'],
    [closeOwn, 'close'],
  ];
}

/** Answered with one ReadyForQuery. */
export function ownQuestion(sql: string, parameters: readonly Buffer[]): Buffer {
  return Buffer.concat([
    parseOwn(sql),
    send.bind({ portal: ownName, statement: ownName, parameters }),
    send.execute(ownName),
    send.closePortal(ownName),
    closeOwn,
    send.sync,
  ]);
}

/** Whether PostgreSQL understands the text is in the answer. */
export function syntaxQuestion(text: Buffer): Buffer {
  return Buffer.concat([parseOwn(text), closeOwn, send.sync]);
}

/** Behind a question that has failed: its statement may be there yet. */
export const forgetOwn = Buffer.concat([closeOwn, send.sync]);
