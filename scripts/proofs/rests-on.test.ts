import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProven, textOfProven } from './proven.ts';
import { digestOf, filesBelow, root } from './rests-on.ts';
import { placeOf, projectOf, projects, testFiles } from './test-places.ts';

function restOf(file: string): readonly string[] | null {
  const place = placeOf(file);
  return place === null ? null : filesBelow(place);
}

describe('what a test rests on', () => {
  it('is what it imports at any depth, and what is bundled or started by its name', () => {
    const files = filesBelow({ entries: ['harness/groups/planted.test.ts'] });
    // Imported; named by a string; imported by what is named so.
    for (const file of [
      'harness/groups/planted-leases.ts',
      'harness/groups/group-schedule.ts',
      'server/src/multipaxos/lease.ts',
    ])
      expect(files).toContain(file);
    expect(files).not.toContain('server/src/gateways/pgwire/listener.ts');
  });

  it.each([
    [
      'harness/e2e/cluster.e2e.test.ts',
      ['bin/barista.js', 'server/src/cli/main.ts'],
      ['dashboard/src/main.tsx'],
    ],
    [
      'dashboard/dev/page.e2e.test.ts',
      ['bin/barista.js', 'dashboard/src/main.tsx'],
      ['server/src/wal/lsn.test.ts'],
    ],
    ['harness/conformance/trace/trace.tlc.test.ts', ['specs/MultiPaxos.tla'], ['dashboard/src/main.tsx']],
    ['harness/clients/clients.e2e.test.ts', ['harness/clients/programs/hibernate/pom.xml'], []],
    [
      'harness/thrift-clients/thrift-clients.e2e.test.ts',
      ['clients/java/pom.xml', 'clients/barista.thrift'],
      [],
    ],
    ['harness/e2e/slow-disk.e2e.test.ts', ['harness/nemesis/slow-disk-shim.c'], []],
  ])('of %s takes in what it starts', (file, within, without) => {
    const files = filesBelow(placeOf(file)!);
    for (const one of within) expect(files).toContain(one);
    for (const one of without) expect(files).not.toContain(one);
  });

  it('is known of each test but unit tests, and has the test itself in it', () => {
    const all = projects.flatMap(testFiles);
    const unknown = all.filter((file) => placeOf(file) === null);
    expect(unknown.filter((file) => projectOf(file) !== 'unit')).toEqual([]);
    expect(all.filter((file) => !(restOf(file)?.includes(file) ?? true))).toEqual([]);
  });

  it('has another digest with another file, and with another command', () => {
    const entries = ['scripts/proofs/proven.ts'];
    expect(digestOf({ entries })).toBe(digestOf({ entries }));
    expect(digestOf({ entries, folders: ['scripts/proofs'] })).not.toBe(digestOf({ entries }));
    expect(digestOf({ entries }, '--seed 2')).not.toBe(digestOf({ entries }, '--seed 1'));
  });

  it('holds nothing that is not there', () => {
    expect(() => filesBelow({ entries: ['scripts/nothing.ts'] })).toThrow('ENOENT');
  });
});

it('the file of what passed is as it is written, and no test rests on it', () => {
  const text = readFileSync(join(root, 'scripts/proofs/proven.json'), 'utf8');
  expect(textOfProven(loadProven())).toBe(text);
  const resting = projects
    .flatMap(testFiles)
    .filter((file) => restOf(file)?.includes('scripts/proofs/proven.json') === true);
  expect(resting).toEqual([]);
});
