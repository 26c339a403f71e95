/** The demo's routes for replicas that come and go, and for backups. Responsible for: their shapes, and refusals that say what to do. */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { ReplicaChanged } from '../api/replica-changes.ts';
import { replicaName } from '../config/config-schema.ts';
import { checkShape, requestText } from '../shapes/check-shape.ts';
import type { DemoBackups } from './demo-backups.ts';
import type { ReplicaChanges } from './replica-changes.ts';

const changeBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add') }),
  z.strictObject({ action: z.enum(['remove', 'replace']), replica: replicaName }),
]);

const notHere = refusal(
  'unavailable',
  'This group is simulated: its replicas neither come nor go, and there are no files to back up.',
);

export interface ReplicaRoutes {
  readonly change: RequestHandler;
  readonly changeStatus: RequestHandler;
  readonly backups: RequestHandler;
  readonly takeBackup: RequestHandler;
}

export function createReplicaRoutes(
  changes: ReplicaChanges | null,
  backups: DemoBackups | null,
): ReplicaRoutes {
  return {
    async change(request, response) {
      const body = checkShape(changeBody, request.body, '(body)');
      if (!body.ok) {
        response.status(400).json(refusal('badRequest', requestText(body.problems)));
        return;
      }
      if (changes === null) {
        response.status(409).json(notHere);
        return;
      }
      const outcome = await changes.change(body.value);
      if (outcome.ok) response.json(outcome satisfies ReplicaChanged);
      else response.status(409).json(refusal(outcome.code, outcome.message));
    },
    changeStatus(_request, response) {
      if (changes === null) response.status(409).json(notHere);
      else response.json(changes.status());
    },
    backups(_request, response) {
      if (backups === null) response.status(409).json(notHere);
      else response.json(backups.status());
    },
    takeBackup(_request, response) {
      if (backups === null) response.status(409).json(notHere);
      else if (backups.take()) response.status(202).json({ ok: true });
      else response.status(409).json(refusal('busy', 'A backup is being taken already.'));
    },
  };
}

function refusal(code: string, message: string) {
  return { error: { code, message } };
}
