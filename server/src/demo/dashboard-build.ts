/**
 * The dashboard's files: builds them when they are missing or older than their sources.
 *
 * Responsible for: deciding, and running Vite as a child process. Where the sources or Vite are missing (an installed package), what is
 * there is served as it is.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The repository or installed package: this file is in server/src/demo or server/dist/demo. */
export const packageRoot = join(import.meta.dirname, '..', '..', '..');

export type DashboardState =
  | { readonly kind: 'ready'; readonly dir: string }
  | { readonly kind: 'absent'; readonly reason: string };

/** @param progress gets lines for people */
export async function prepareDashboard(
  progress: (line: string) => void,
  root = packageRoot,
): Promise<DashboardState> {
  const dashboard = join(root, 'dashboard');
  const dist = join(dashboard, 'dist');
  const builtMs = await newestMs(join(dist, 'index.html'));
  const sourcesMs = Math.max(
    await newestMs(join(dashboard, 'src')),
    await newestMs(join(dashboard, 'index.html')),
    await newestMs(join(dashboard, 'vite.config.ts')),
    await newestMs(join(root, 'server', 'src', 'api')),
  );
  if (builtMs > 0 && builtMs >= sourcesMs) return { kind: 'ready', dir: dist };
  const vite = findVite(root);
  if (vite === null || !existsSync(join(dashboard, 'index.html'))) {
    if (builtMs > 0) return { kind: 'ready', dir: dist };
    return {
      kind: 'absent',
      reason: 'The dashboard is not built, and its sources or Vite are not here. Run "npm ci" first.',
    };
  }
  progress(
    builtMs > 0
      ? 'The dashboard has changed: building it...'
      : 'Building the dashboard for the first time...',
  );
  const startedAtMs = performance.now();
  const failure = await runVite(vite, dashboard, root);
  if (failure === null) {
    progress(`Dashboard built in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s.`);
    return { kind: 'ready', dir: dist };
  }
  const reason = `Building the dashboard failed:\n${failure}`;
  progress(reason);
  return builtMs > 0 ? { kind: 'ready', dir: dist } : { kind: 'absent', reason };
}

function findVite(root: string): string | null {
  try {
    const require = createRequire(join(root, 'package.json'));
    return join(dirname(require.resolve('vite/package.json')), 'bin', 'vite.js');
  } catch {
    return null;
  }
}

/** What Vite said if it failed, or null. */
function runVite(vite: string, dashboard: string, cwd: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [vite, 'build', dashboard, '--logLevel', 'warn'], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-4000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => resolve(code === 0 ? null : output.trim() || `exit code ${code}`));
  });
}

/** When the file, or anything in the folder, was last changed. 0 if it is not there. */
async function newestMs(path: string): Promise<number> {
  try {
    const info = await stat(path);
    if (!info.isDirectory()) return info.mtimeMs;
    const names = await readdir(path);
    const times = await Promise.all(names.map((name) => newestMs(join(path, name))));
    // The folder itself too: a deleted file changes nothing else.
    return Math.max(info.mtimeMs, ...times);
  } catch {
    return 0;
  }
}
