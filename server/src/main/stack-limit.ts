/**
 * The stack that PostgreSQL may use: where statements travel it is the same at all replicas (statement-settings.ts), for recursion ends where it does.
 *
 * Pure, but for `stackKbMax`.
 */
import { CliError } from './errors.ts';
import { processLimit } from './process-limit.ts';

/** PostgreSQL keeps so much of the limit for itself. */
const sparedKb = 512;

/** Of this process, which PostgreSQL inherits; null: it is not told, or there is none. */
export function stackKbMax(): number | null {
  const bytes = processLimit('stack_size_bytes');
  return bytes === null ? null : Math.floor(bytes / 1024);
}

/** @throws CliError if PostgreSQL would refuse the depth that it is given */
export function checkStack(depthKb: number, limitKb: number | null): void {
  const least = depthKb + sparedKb;
  if (limitKb === null || limitKb >= least) return;
  throw new CliError(
    `The stack of this process is limited to ${limitKb} kB, and payload: statements needs ${least} kB, so that recursion ends alike at all replicas. Allow more: "ulimit -s 8192", LimitSTACK=8M in its systemd unit, or --ulimit stack=8388608 of its container.`,
  );
}
