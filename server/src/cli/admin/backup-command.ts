/**
 * `barista backup`: the whole group in one file.
 *
 * Responsible for: the file on this side, from the first byte to its name. What is in it is the replica's business (adapters/postgres/backup/backup-file.ts).
 * Invariant: FILE exists only if all of it was received, found whole by its checksum, and is on the disk; until then it is FILE.part.
 */
import { createWriteStream } from 'node:fs';
import { lstat, open, realpath, rename, rm } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { dirname, join, resolve } from 'node:path';
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

/** `ended`: by whoever gave the command. @throws CliError; FILE is then as it was before */
export async function runBackup(
  target: AdminTarget,
  file: string,
  replace: boolean,
  progress: ProgressLine,
  ended: AbortSignal,
): Promise<BackupDone> {
  await mayBeMade(file, replace);
  const partial = `${file}.part`;
  await reserve(partial);
  try {
    const bytes = await receive(target, partial, progress, ended);
    progress.clear();
    const { header } = await verifyBackup(partial);
    await syncPath(partial);
    await mayBeMade(file, replace);
    await rename(partial, file);
    await syncPath(dirname(file));
    return { bytes, header };
  } catch (error) {
    progress.clear();
    await rm(partial, { force: true });
    if (error instanceof CliError && !ended.aborted) throw error;
    const { message } = (ended.aborted ? ended.reason : error) as Error;
    throw new CliError(`No backup was made: ${message}`, exitCodes.failed, { cause: error });
  }
}

/** @throws CliError */
async function mayBeMade(file: string, replace: boolean): Promise<void> {
  const found = await lstat(file).catch(() => null);
  if (found !== null && !found.isFile())
    throw new CliError(`${file} is not a regular file. Give another name.`, exitCodes.usage);
  if (found !== null && !replace)
    throw new CliError(`${file} exists. Give another name, or --replace.`, exitCodes.usage);
  const directory = dirname(resolve(file));
  for (let above = await realpath(directory).catch(() => directory); ; above = dirname(above)) {
    if (await exists(join(above, 'PG_VERSION')))
      throw new CliError(
        `${file} is inside PostgreSQL's directory ${above} and would become part of the next backup. Write the backup elsewhere.`,
        exitCodes.usage,
      );
    if (above === dirname(above)) return;
  }
}

/** Nobody else writes there. @throws CliError */
async function reserve(partial: string): Promise<void> {
  try {
    await (await open(partial, 'wx', 0o600)).close();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST'
        ? `${partial} exists: another backup is being written there or was interrupted. If none is running, remove the file; or give another name.`
        : `No backup was made: ${message}`;
    throw new CliError(why, code === 'EEXIST' ? exitCodes.usage : exitCodes.failed, { cause: error });
  }
}

async function receive(
  target: AdminTarget,
  partial: string,
  progress: ProgressLine,
  ended: AbortSignal,
): Promise<number> {
  const response = await reach(target, () => get(target, ended));
  if (response.statusCode !== 200) throw refusal(target, response.statusCode ?? 0, await bodyOf(response));
  let bytes = 0;
  const counter = counted((soFar) => {
    bytes = soFar;
    progress.update(bytes, null);
  });
  const out = createWriteStream(partial);
  try {
    await pipeline(response, counter, out, { signal: ended });
  } catch (error) {
    // The file may still be about to be made: it could not be removed yet.
    if (!out.closed) await new Promise<void>((resolve) => out.once('close', resolve));
    // Node's words for it are "aborted".
    if (ended.aborted || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw new CliError(
      `No backup was made: the replica ended the transfer after ${bytes} bytes, as when it gains or loses leadership. See its log, and try again.`,
      exitCodes.failed,
      { cause: error },
    );
  }
  return bytes;
}

function get({ host, port, headers, tls }: AdminTarget, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = tls === null ? plainRequest : tlsRequest;
    const outgoing = send({ ...tls, host, port, path: '/api/backup', headers, signal }, resolve);
    // Also while the answer comes.
    outgoing.setTimeout(silenceMs, () => {
      outgoing.destroy(new Error(`the replica sent nothing for ${silenceMs / 1000} s`));
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
