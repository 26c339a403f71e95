/** Prometheus' own checker (Debian: `prometheus`), where it is installed. */
import { spawnSync } from 'node:child_process';

export const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;

/** Null: it finds nothing wrong. */
export function promtool(args: readonly string[], input = ''): string | null {
  const { status, stdout, stderr } = spawnSync('promtool', [...args], { input, encoding: 'utf8' });
  return status === 0 ? null : `${stdout}${stderr}`;
}
