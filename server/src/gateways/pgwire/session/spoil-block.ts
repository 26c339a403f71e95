/** Errors of the gateway's own end a client's transaction as PostgreSQL's do. */
import * as send from '../codec/frontend-messages.ts';
import type { SessionContext } from './context.ts';
import { ownSync } from './step.ts';

/** Makes PostgreSQL regard the client's transaction as failed. */
export const spoilBlock = async (context: SessionContext): Promise<void> => {
  const impossible = send.bind({ portal: '', statement: 'barista:no such statement' });
  const { status } = await context.link.send([{ kind: 'bind', own: true, bytes: impossible }, ownSync]).done;
  context.status = status ?? 'E';
};
