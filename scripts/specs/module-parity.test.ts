/** Lease.tla, FollowerReads.tla, Paxos.tla, PrimaryCopies.tla, StatementApply.tla and RequestOutcomes.tla, the code and the events that it tells, side by side in the README: what is in one is in all. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tracedEvents } from './parity.ts';
import { SPECS_DIR } from './tlc.ts';
import { actionsOf } from './vacuity.ts';

const SERVER_DIR = fileURLToPath(new URL('../../server/src', import.meta.url));

function read(file: string): string {
  return readFileSync(path.join(SERVER_DIR, file), 'utf8');
}

interface Row {
  readonly action: string;
  readonly functions: readonly { readonly name: string; readonly file: string }[];
  readonly event: string | null;
}

function rowsOf(module: string): readonly Row[] {
  const readme = readFileSync(path.join(SPECS_DIR, 'README.md'), 'utf8');
  const marked = new RegExp(`<!-- parity ${module} -->\\n\\n([\\s\\S]*?)\\n\\n<!-- /parity ${module} -->`);
  const table = marked.exec(readme)?.[1] ?? '';
  const lines = table.split('\n').slice(2);
  return lines.map((line) => {
    const [, action = '', code = '', event = ''] = line.split('|').map((cell) => cell.trim());
    let names: string[] = [];
    const functions: { name: string; file: string }[] = [];
    for (const [, name, file] of code.matchAll(/`(\w+)`|in ([\w/.-]+\.ts)/g)) {
      if (name !== undefined) names.push(name);
      if (file === undefined) continue;
      functions.push(...names.map((each) => ({ name: each, file })));
      names = [];
    }
    return { action, functions, event: event === '–' || event === '' ? null : event.replaceAll('`', '') };
  });
}

/** Names of a union of events: those between its name and the next declaration. */
function eventNames(source: string, type: string): readonly string[] {
  const body =
    source.split(`export type ${type} =`)[1]?.split(/^(?:export|type|interface|const|function) /m)[0] ?? '';
  return [...body.matchAll(/name: ('\w+'(?: \| '\w+')*)/g)].flatMap(([, names]) =>
    [...names!.matchAll(/'(\w+)'/g)].map(([, name]) => name!),
  );
}

describe.each(['Lease', 'FollowerReads', 'Paxos', 'PrimaryCopies', 'StatementApply', 'RequestOutcomes'])(
  'specs/%s.tla and the code',
  (module) => {
    const rows = rowsOf(module);

    it('have the same actions, in the order of Next', () => {
      const spec = readFileSync(path.join(SPECS_DIR, `${module}.tla`), 'utf8');
      const named = rows.flatMap(({ action }) =>
        action.startsWith('–') ? [] : [action.replaceAll('`', '')],
      );
      expect([...named].sort()).toEqual([...actionsOf(spec)].sort());
      expect(new Set(named).size).toBe(named.length);
    });

    it('have the functions where they are said to be', () => {
      const missing = rows
        .flatMap(({ functions }) => functions)
        .filter(
          ({ name, file }) =>
            !new RegExp(`^(?:export )?function ${name}\\(|^  (?:private |async )*${name}\\(`, 'm').test(
              read(file),
            ),
        );
      expect(missing).toEqual([]);
      expect(rows.filter(({ functions, event }) => event !== null && functions.length === 0)).toEqual([]);
    });
  },
);

describe('specs/Lease.tla and the lease of the code', () => {
  const rows = rowsOf('Lease');

  it('have the same events', () => {
    const told = [
      ...eventNames(read('multipaxos/types/lease-trace.ts'), 'CoreLeaseEvent'),
      ...eventNames(read('api/events.ts'), 'LeaseTraceEvent'),
    ];
    expect(rows.flatMap(({ event }) => (event === null ? [] : [event])).sort()).toEqual([...told].sort());
  });

  it('name an event as its action is named', () => {
    const others = rows.filter(
      ({ action, event }) => event !== null && !action.startsWith('–') && action !== `\`${event}\``,
    );
    expect(others).toEqual([]);
  });
});

describe.each([
  ['Paxos', 'paxos'],
  ['PrimaryCopies', 'primary'],
])('specs/%s.tla and the events of server/src/%s', (module, folder) => {
  const rows = rowsOf(module);
  const files = readdirSync(path.join(SERVER_DIR, folder)).filter((name) => name.endsWith('.ts'));
  const sources = files
    .filter((name) => !name.endsWith('.test.ts'))
    .map((name) => ({ name, text: read(path.join(folder, name)) }));

  it('are the same, named as their actions', () => {
    const told = rows.flatMap(({ event }) => (event === null ? [] : [event]));
    expect([...told].sort()).toEqual([...tracedEvents(sources)].sort());
    expect(rows.filter(({ action, event }) => event !== null && action !== `\`${event}\``)).toEqual([]);
  });
});
