import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  exportedFunctions,
  functionName,
  nextActions,
  parityTable,
  specActions,
  type SourceFile,
  tracedEvents,
  unionMembers,
} from './parity.ts';
import { SPECS_DIR } from './tlc.ts';

const CORE_DIR = fileURLToPath(new URL('../../server/src/multipaxos', import.meta.url));
const spec = readFileSync(path.join(SPECS_DIR, 'MultiPaxos.tla'), 'utf8');
const files: readonly SourceFile[] = readdirSync(CORE_DIR)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .sort()
  .map((name) => ({ name, text: readFileSync(path.join(CORE_DIR, name), 'utf8') }));
const traceTypes = readFileSync(path.join(CORE_DIR, 'types', 'trace.ts'), 'utf8');

describe('specs/MultiPaxos.tla and the consensus core', () => {
  const actions = specActions(spec);

  it('have the same actions', () => {
    expect([...actions].sort()).toEqual([...unionMembers(traceTypes, 'ActionName')].sort());
  });

  it('have a function for every action', () => {
    const functions = exportedFunctions(files);
    const missing = actions.filter((action) => {
      const name = functionName(action);
      return name !== null && !functions.has(name);
    });
    expect(missing).toEqual([]);
  });

  it('have an event for every action but the crash, which nobody lives to tell', () => {
    const events = tracedEvents(files);
    expect(actions.filter((action) => !events.has(action))).toEqual(['Crash']);
    expect([...events].filter((event) => !actions.includes(event))).toEqual([]);
  });

  it('are set side by side in the README', () => {
    const readme = readFileSync(path.join(SPECS_DIR, 'README.md'), 'utf8');
    const table = /<!-- parity -->\n\n([\s\S]*?)\n\n<!-- \/parity -->/.exec(readme)?.[1];
    expect(table).toBe(parityTable(actions, files));
  });
});

describe('reading names', () => {
  it('takes only operators that set act', () => {
    expect(specActions('Foo(r) ==\n  /\\ act\' = [name |-> "Foo", params |-> 1]\nBar == 1\n')).toEqual([
      'Foo',
    ]);
  });

  it('notices an action that tells the name of another', () => {
    expect(() => specActions('Foo(r) ==\n  act\' = [name |-> "Bar"]\n')).toThrow('Foo says that it is Bar');
  });

  it('takes what Next uses, if it or what it uses changes a variable', () => {
    const spec =
      "Count(n) == n + 1\nDrop(n) == x' = Count(n)\nPurge == Drop(1)\nNext == \\E n \\in Count(2) : Purge \\* Drop\n";
    expect(nextActions(spec)).toEqual(['Purge']);
  });

  it('reads a union over several lines', () => {
    expect(unionMembers("export type A =\n  | 'x'\n  | 'y';\nexport type B = 'z';", 'A')).toEqual(['x', 'y']);
  });
});
