/** bin/barista.js runs before anything is known of Node.js and of what is installed. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const entry = fileURLToPath(new URL('../../../bin/barista.js', import.meta.url));
const source = readFileSync(entry, 'utf8');

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-entry-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** What it says with another version of Node.js. Nothing is imported here, so a good version says that. */
function saidBy(version: string): string {
  let said = '';
  const stderr = { write: (text: string) => (said += text) };
  new Script(source.replace("import('../server/dist/cli/main.js')", 'begin()')).runInNewContext({
    process: { versions: { node: version }, execPath: '/bin/node', stderr },
    begin: () => {
      said = 'started';
      return new Promise(() => undefined);
    },
  });
  return said;
}

/** An installation of which `main` is the module behind the entry. */
async function run(main: string | null, shell = 'exec "$@"'): Promise<string> {
  mkdirSync(join(dir, 'bin'), { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
  cpSync(entry, join(dir, 'bin', 'barista.js'));
  if (main !== null) {
    mkdirSync(join(dir, 'server/dist/cli'), { recursive: true });
    writeFileSync(join(dir, 'server/dist/cli/main.js'), main);
  }
  const args = ['-c', shell, 'sh', process.execPath, join(dir, 'bin', 'barista.js')];
  const outcome = await promisify(execFile)('sh', args).then(
    () => ({ code: 0, stderr: '' }),
    (error: { code: number; stderr: string }) => error,
  );
  expect(outcome.code).toBe(1);
  return outcome.stderr;
}

describe('the program file of the command', () => {
  it('can be read by old versions of Node.js', () => {
    // A script, unlike a module, has no static imports and no top-level await.
    expect(() => new Script(source)).not.toThrow();
    expect(source).not.toMatch(/\?\.[a-z[(]|\?\?|\bawait |#\w+ ?[=(]/);
  });

  it('names the versions that package.json asks for', () => {
    const { engines } = JSON.parse(
      readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
    ) as { readonly engines: { readonly node: string } };
    expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0');
    for (const good of ['20.19.0', '22.12.0', '24.0.0', '25.1.0']) expect(saidBy(good)).toBe('started');
    for (const old of ['12.22.0', '18.20.8', '20.18.3', '21.7.0', '22.11.0', '23.5.0'])
      expect(saidBy(old)).toMatch(
        new RegExp(
          `^Barista needs Node\\.js 20\\.19, 22\\.12, 24 or a later version, and this is ${old} \\(`,
        ),
      );
  });

  it('says that nothing is built only where a file is missing', async () => {
    expect(await run(null)).toMatch(/^Barista is not built yet: .*main\.js is missing\. Run "npm ci"/);
    expect(await run("import 'a-package-that-is-not-there';")).toMatch(
      /^Barista is not built yet: a-package-that-is-not-there is missing\./,
    );
  });

  it('says that too few files can be opened, which Node.js takes for missing ones', async () => {
    const failed = (code: string, message: string) =>
      `export function run() { throw Object.assign(new Error(${JSON.stringify(message)}), { code: ${JSON.stringify(code)} }); }`;
    const words =
      /^Barista cannot be loaded: this process may open too few files \(\d+\)\. Allow it at least 300/;
    expect(await run(failed('EMFILE', 'too many open files'))).toMatch(words);
    const few = 'ulimit -n 250; exec "$@"';
    // As Node.js guesses it where it cannot read the package's description.
    const guessed = join(dir, 'node_modules/yaml/index.js');
    mkdirSync(join(dir, 'node_modules/yaml'), { recursive: true });
    const notFound = failed('ERR_MODULE_NOT_FOUND', `Cannot find module '${guessed}'`);
    expect(await run(notFound, few)).toMatch(words);
    expect(await run(notFound)).toMatch(/^Error: Cannot find module .*yaml\/index\.js'\n +at /);
    const many = Array.from({ length: 60 }, (_, index) => `import './m${index}.js';`).join('\n');
    mkdirSync(join(dir, 'server/dist/cli'), { recursive: true });
    for (let index = 0; index < 60; index += 1) writeFileSync(join(dir, `server/dist/cli/m${index}.js`), '');
    expect(await run(many, 'ulimit -n 30; exec "$@"')).toMatch(words);
  });

  it('shows a defect with its stack', async () => {
    expect(await run('export function run() { throw new TypeError("x"); }')).toMatch(
      /^TypeError: x\n +at .*\brun /,
    );
  });
});
