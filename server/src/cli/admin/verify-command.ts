/** `barista verify`: has the leader compare all replicas' data, and shows the verdict. */
import type { VerifyRequest, VerifyResult } from '../../api/status.ts';
import { CliError, exitCodes, type ExitCode } from '../../main/errors.ts';
import type { VerifyArguments } from '../program-admin.ts';
import { visibleInLine } from '../visible.ts';
import { type AdminTarget, askAdmin } from './admin-client.ts';

type Replica = VerifyResult['replicas'][number];

/** More names than these are counted, not shown. */
const namesMax = 8;

/** @throws CliError */
export async function runVerify(
  target: AdminTarget,
  { repair, json }: VerifyArguments,
  say: (line: string) => void,
): Promise<ExitCode> {
  const body: VerifyRequest = { repair };
  // The group gives up first, and says why.
  const timeoutMs = (target.verifyMinutes + 1) * 60_000;
  const result = (await askAdmin(target, { path: '/api/verify', body, timeoutMs })) as VerifyResult | null;
  if (!Array.isArray(result?.replicas)) throw new CliError('The answer is not a comparison result.');
  say(json ? JSON.stringify(result, null, 2) : verifyText(result));
  return verifyExitCode(result);
}

/** That nothing differs is no success where something was not compared. */
export function verifyExitCode({ replicas, leftOut }: VerifyResult): ExitCode {
  if (replicas.some(({ outcome }) => outcome === 'differs')) return exitCodes.differs;
  const isWhole = leftOut === 0 && replicas.every(({ outcome }) => outcome === 'equal');
  return isWhole ? exitCodes.ok : exitCodes.failed;
}

export function verifyText({ slot, replicas, leftOut, advice }: VerifyResult): string {
  const width = Math.max(...replicas.map(({ replica }) => replica.length));
  const lines = replicas.map((each) => `  ${each.replica.padEnd(width)}  ${verdictOf(each)}`);
  const isEqual = replicas.every(({ outcome }) => outcome === 'equal');
  const verdict =
    leftOut === 0 ? 'All are equal.' : 'No difference was found, but not everything was compared.';
  return [
    `Compared as of slot ${slot}:`,
    ...lines,
    ...(isEqual ? [verdict] : []),
    ...advice.map(visibleInLine),
  ].join('\n');
}

function verdictOf({ outcome, detail: found }: Replica): string {
  const detail = found.map(visibleInLine);
  if (outcome === 'equal') return 'equal';
  if (outcome === 'noReport') return `no report: ${detail.join('; ') || 'nothing was heard'}`;
  const shown = detail.slice(0, namesMax).join(', ');
  const more = detail.length - namesMax;
  return `differs: ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
