/**
 * Writes down which commit the server was built from, for `barista_build_info`: the one of the checkout, or that of BARISTA_COMMIT where there is none, as in an image that is being built.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function commitOfCheckout(): string {
  const words = ['describe', '--always', '--abbrev=40', '--dirty', '--exclude', '*'];
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'unknown';
}

const given = process.env['BARISTA_COMMIT'] ?? '';
const dist = join(root, 'server', 'dist');
mkdirSync(dist, { recursive: true });
writeFileSync(join(dist, 'commit'), `${given === '' ? commitOfCheckout() : given}\n`);
