/** The direction of imports, as docs/architecture.md states it, checked on the code itself. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What each folder may import besides itself; packages by `npm:`. Tests and testing folders may take more. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'server/src/multipaxos': [],
  'server/src/api': ['server/src/multipaxos'],
  // A stream is an interface of the platform, as a promise is one of the language.
  'server/src/ports': ['server/src/multipaxos', 'server/src/apply', 'server/src/api', 'node:stream'],
  'server/src/apply': ['server/src/multipaxos', 'server/src/ports', 'server/src/api', 'npm:msgpackr'],
  'server/src/replica': [
    'server/src/multipaxos',
    'server/src/apply',
    'server/src/ports',
    'server/src/api',
    'npm:',
    'node:',
  ],
  'server/src/adapters': [
    'server/src/multipaxos',
    'server/src/apply',
    'server/src/ports',
    'server/src/api',
    'npm:',
    'node:',
  ],
  'server/src/gateways': [
    'server/src/multipaxos',
    'server/src/apply',
    'server/src/ports',
    'server/src/api',
    'npm:',
    'node:',
  ],
  'server/src/cli': ['server/src', 'npm:', 'node:'],
  'dashboard/src': ['server/src/api', 'server/src/multipaxos/types.ts', 'npm:'],
};

function sources(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = `${folder}/${name}`;
    if (name === 'testing' || name === 'testing.ts' || /\.test\.tsx?$/.test(name)) return [];
    if (statSync(join(root, path)).isDirectory()) return sources(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'/g)].map(
    (m) => m[1]!,
  );
  return specifiers.map((specifier) => {
    if (specifier.startsWith('node:')) return specifier;
    if (!specifier.startsWith('.')) return `npm:${specifier}`;
    return relative(root, resolve(root, dirname(file), specifier));
  });
}

describe('imports', () => {
  it.each(Object.entries(allowed))('%s takes only what it may', (folder, may) => {
    const files = sources(folder);
    expect(files.length).toBeGreaterThan(0);
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => ![folder, ...may].some((prefix) => target.startsWith(prefix)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('the core knows no clock, no randomness, no timers and no promises', () => {
    const impure =
      /\b(Date\.|new Date|Math\.random|setTimeout|setInterval|setImmediate|process\.|async |await |new Promise\b|console\.)/;
    const wrong = sources('server/src/multipaxos').filter((file) => {
      const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      return impure.test(code);
    });
    expect(wrong).toEqual([]);
  });
});
