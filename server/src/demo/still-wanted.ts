/**
 * Whether who asked for something still waits for it.
 *
 * A server that stood still finds requests that lie in its sockets, perhaps long after a person has given them up: what they ask for would be done out of the blue. That the
 * other side has closed the connection is read behind the request itself.
 */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { setImmediate as turn } from 'node:timers/promises';

/** Goes on to what carries the request out only if it is wanted still. */
export const ifStillWanted: RequestHandler = async (request, response, next) => {
  if (await isStillWanted(request)) next();
  else response.destroy();
};

async function isStillWanted({ socket }: IncomingMessage): Promise<boolean> {
  // One turn may be over before sockets are looked at; between two they are.
  await turn();
  await turn();
  return !socket.destroyed && !socket.readableEnded;
}
