/**
 * `barista backup`: the whole group in one file.
 *
 * Responsible for: the file on this side, from the first byte to its name. What is in it is the replica's business (adapters/postgres/backup/backup-file.ts).
 * Invariant: FILE exists only if all of it was received, found whole by its checksum, and is on the disk; until then it is FILE.part.
 */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../adapters/counted.ts';
import { exists, syncPath } from '../../adapters/file-system.ts';
import { type BackupHeader, verifyBackup } from '../../adapters/postgres/backup/backup-file.ts';
import { CliError, exitCodes } from '../../main/errors.ts';
import { type AdminTarget, reach, refusal } from './admin-client.ts';
import type { ProgressLine } from './progress-line.ts';

/** PostgreSQL begins with a checkpoint, which takes its time. */
const silenceMs = 120_000;
const refusalBytesMax = 64 * 1024;

export interface BackupDone {
  readonly bytes: number;
  readonly header: BackupHeader;
}

/** @throws CliError; FILE is then as it was before */
export async function runBackup(
  target: AdminTarget,
  file: string,
  replace: boolean,
  progress: ProgressLine,
): Promise<BackupDone> {
  if (!replace && (await exists(file))) {
    throw new CliError(`${file} exists. Give another name, or --replace.`, exitCodes.usage);
  }
  const partial = `${file}.part`;
  try {
    const bytes = await receive(target, partial, progress);
    progress.clear();
    const { header } = await verifyBackup(partial);
    await syncPath(partial);
    await rename(partial, file);
    await syncPath(dirname(file));
    return { bytes, header };
  } catch (error) {
    progress.clear();
    await rm(partial, { force: true });
    if (error instanceof CliError) throw error;
    throw new CliError(`There is no backup: ${(error as Error).message}`, exitCodes.failed, { cause: error });
  }
}

async function receive(target: AdminTarget, partial: string, progress: ProgressLine): Promise<number> {
  const response = await reach(target, () => get(target));
  if (response.statusCode !== 200) throw refusal(target, response.statusCode ?? 0, await bodyOf(response));
  let bytes = 0;
  const counter = counted((soFar) => {
    bytes = soFar;
    progress.update(bytes, null);
  });
  const out = createWriteStream(partial, { mode: 0o600 });
  try {
    await pipeline(response, counter, out);
  } catch (error) {
    // The file may still be about to be made: it could not be removed yet.
    if (!out.closed) await new Promise<void>((resolve) => out.once('close', resolve));
    // Node's words for it are "aborted".
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw new CliError(
      `There is no backup: the replica ended the transfer after ${bytes} bytes, as it does when it begins or ceases to lead. Its log has the reason; take it again.`,
      exitCodes.failed,
      {
        cause: error,
      },
    );
  }
  return bytes;
}

function get({ host, port, headers, tls }: AdminTarget): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = tls === null ? plainRequest : tlsRequest;
    const outgoing = send({ ...tls, host, port, path: '/api/backup', headers }, resolve);
    // Also while the answer comes.
    outgoing.setTimeout(silenceMs, () => {
      outgoing.destroy(new Error(`nothing was sent for ${silenceMs / 1000} s`));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > refusalBytesMax) return null;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
