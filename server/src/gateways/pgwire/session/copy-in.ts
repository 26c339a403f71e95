/**
 * COPY ... FROM STDIN: passes the client's data to PostgreSQL while the statement's flight is under way.
 *
 * Invariant: in this state only COPY messages reach PostgreSQL, for it may have left the COPY already, and would run others.
 */
import { copyFail, flush } from '../codec/frontend-messages.ts';
import { front } from '../codec/message-types.ts';
import type { Flight } from './backend-link.ts';
import type { ClientMessage } from './client-input.ts';
import type { SessionContext } from './context.ts';
import { SessionEnded } from './session-ended.ts';
import type { FlightResult } from './step.ts';

/** Awaits the flight of a COPY statement, feeding it if it asks. `asked`: PostgreSQL did ask for data. */
export const feedCopy = async (
  context: SessionContext,
  flight: Flight,
): Promise<{ readonly result: FlightResult; readonly asked: boolean }> => {
  const first = await Promise.race([flight.done, flight.copyIn]);
  if (first !== 'copyIn') return { result: first, asked: false };
  context.output.release();
  context.output.flush();
  const state = { over: false };
  const done = flight.done.finally(() => {
    state.over = true;
  });
  done.catch(() => {});
  while (!state.over) {
    const after = await passDataOn(context);
    // What the client still sends after PostgreSQL gave up is thrown away by the session.
    if (after !== null && endsCopy(context, after)) break;
    if (after === null && context.input.ended) throw new SessionEnded();
    if (after === null) await Promise.race([context.input.available(), done]);
  }
  return { result: await done, asked: true };
};

/** Passes on the COPY data that is there; returns the message behind it, if any. */
const passDataOn = async (context: SessionContext): Promise<ClientMessage | null> => {
  const data: Buffer[] = [];
  let message = context.input.take();
  while (message !== null && message.type === front.copyData) {
    data.push(message.bytes);
    message = context.input.take();
  }
  if (data.length > 0) await context.link.write(data);
  return message;
};

const endsCopy = (context: SessionContext, message: ClientMessage): boolean => {
  switch (message.type) {
    case front.copyDone:
    case front.copyFail:
      // PostgreSQL has swallowed the Flush behind an Execute while it was copying.
      void context.link.write([message.bytes, flush]);
      return true;
    case front.flush:
    case front.sync:
      return false;
    default: {
      const letter = String.fromCharCode(message.type);
      void context.link.write([
        copyFail(`unexpected message type "${letter}" during COPY from stdin`),
        flush,
      ]);
      context.input.putBack(message);
      return true;
    }
  }
};
