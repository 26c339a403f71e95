/**
 * `GET /api/log/SLOT`: what a slot of the log holds, for people.
 *
 * Responsible for: the route and its status codes. `purged`: 410. `notChosen`: 404. `unavailable`: 503.
 */
import { Router, type RequestHandler } from 'express';
import type { SlotAnswer, SlotRefusal } from '../../api/wal-summary.ts';
import type { Slot } from '../../multipaxos/types/names.ts';

const statusOf: Readonly<Record<SlotRefusal['error']['code'], number>> = {
  badRequest: 400,
  notChosen: 404,
  purged: 410,
  failed: 500,
  unavailable: 503,
};

type ReadSlot = (slot: Slot) => Promise<SlotAnswer | SlotRefusal>;

export function logRoutes(readSlot: ReadSlot): Router {
  const router = Router();
  router.get('/api/log/:slot', tellSlot(readSlot));
  return router;
}

function tellSlot(readSlot: ReadSlot): RequestHandler<{ slot: string }> {
  return async (request, response) => {
    const slot = parseSlot(request.params.slot);
    const answer = slot === null ? notASlot : await readSlot(slot);
    if ('error' in answer) response.status(statusOf[answer.error.code]);
    response.json(answer);
  };
}

export const notASlot: SlotRefusal = {
  error: { code: 'badRequest', message: 'A slot is a number from 1 on.' },
};

/** Null: it is none. */
export function parseSlot(text: string): Slot | null {
  const slot = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return slot > 0 ? (slot as Slot) : null;
}
