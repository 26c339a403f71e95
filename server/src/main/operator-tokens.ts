/**
 * The tokens that a replica takes from operators: the one that is made of the cluster's secret, and that of a file.
 *
 * Responsible for: reading the file, again and again, so that another token counts without a restart. Invariant: a file that cannot be read, or holds too little, gives no token.
 */
import { readSmallFile } from '../adapters/file-system.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { adminToken } from './admin-token.ts';
import { CliError, exitCodes } from './errors.ts';

const charsMin = 32;
const readAgainMs = 1000;

type Read = { readonly token: string } | { readonly problem: string };

/** `onProblem`: with what is wrong with the file, once for each time that it becomes so. @throws CliError if it is so from the beginning */
export function operatorTokens(
  { clusterSecret, http: { tokenFile } }: Pick<ReplicaConfig, 'clusterSecret' | 'http'>,
  onProblem: (problem: string) => void,
  nowMs: () => number = () => performance.now(),
): () => readonly string[] {
  const own = adminToken(clusterSecret);
  if (tokenFile === undefined) return () => [own];
  let read = readToken(tokenFile);
  if ('problem' in read) throw new CliError(`http.tokenFile: ${read.problem}`, exitCodes.usage);
  let readAtMs = nowMs();
  return () => {
    if (nowMs() - readAtMs > readAgainMs) {
      const before: Read = read;
      read = readToken(tokenFile);
      readAtMs = nowMs();
      if ('problem' in read && 'token' in before) onProblem(read.problem);
    }
    return 'token' in read ? [own, read.token] : [own];
  };
}

function readToken(file: string): Read {
  let token: string;
  try {
    token = readSmallFile(file).trim();
  } catch (error) {
    return {
      problem: `cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`,
    };
  }
  if (!/^[\x21-\x7e]*$/.test(token)) return { problem: `${file} holds more than one word of plain letters` };
  return token.length < charsMin
    ? { problem: `${file} holds fewer than ${charsMin} characters; "openssl rand -hex 32" makes a good one` }
    : { token };
}
