import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import type { DirectoryRole, DirectoryState } from '../../ports/database-directory.ts';
import {
  decodeDirectoryState,
  DirectoryStateError,
  encodeDirectoryState,
  readDirectoryState,
  writeDirectoryState,
} from './directory-state.ts';

const ballot = { round: 12, replica: 'r2.3' as ReplicaId };
const state: DirectoryState = {
  role: { kind: 'standby' },
  position: {
    slot: 4711 as Slot,
    leadership: ballot,
    newestStart: { round: 13, replica: 'r3' as ReplicaId },
    timeline: 5 as Timeline,
    end: (2 ** 40 + 8) as Lsn,
    // Above what a number can hold exactly.
    nextXid: 2n ** 60n + 1n,
    system: 2n ** 63n + 5n,
    forks: [
      { timeline: 4 as Timeline, at: 100 as Lsn },
      { timeline: 5 as Timeline, at: 200 as Lsn },
    ],
  },
  configuration: { version: 3, slot: 9 as Slot, members: [] },
};

let directory = '';
let path = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'barista-state-'));
  path = join(directory, 'state.json');
});
afterEach(() => rmSync(directory, { recursive: true }));

const roles: readonly DirectoryRole[] = [
  { kind: 'founder', isNew: true },
  { kind: 'standby' },
  { kind: 'promoting', leadership: ballot },
  { kind: 'primary', leadership: ballot },
  { kind: 'copying', from: 'r2' as ReplicaId },
];

it.each(roles)('what is written is read again: $kind', async (role) => {
  await writeDirectoryState(directory, { ...state, role });
  expect(await readDirectoryState(directory)).toEqual({ ...state, role });
  await writeDirectoryState(directory, { ...state, role, configuration: null });
  expect(await readDirectoryState(directory)).toEqual({ ...state, role, configuration: null });
  expect(readdirSync(directory)).toEqual(['state.json']);
});

it('what is not there is nothing; what cannot be read is an error, and no other state', async () => {
  expect(await readDirectoryState(directory)).toBeNull();
  expect(await readDirectoryState(join(directory, 'nowhere'))).toBeNull();
  writeFileSync(path, '');
  await expect(readDirectoryState(directory)).rejects.toThrow(DirectoryStateError);
});

it('a file that is cut off anywhere is no state', async () => {
  await writeDirectoryState(directory, state);
  const text = readFileSync(path, 'utf8');
  // All but the line break at its end counts.
  for (let length = 0; length < text.length - 1; length += 7)
    expect(() => decodeDirectoryState(text.slice(0, length), 'x')).toThrow(DirectoryStateError);
});

it.each([
  ['of another format', { version: 1 }, /^x cannot be understood: version/],
  ['with a role that nobody knows', { role: { kind: 'witness' } }, /^x cannot be understood: role/],
  ['that says more than is known', { note: 'hello' }, /^x cannot be understood/],
  [
    'with a primary of no leadership',
    { role: { kind: 'primary' } },
    /^x cannot be understood: role\.leadership/,
  ],
])('one %s is refused with what is wrong', (_what, change, message) => {
  const document = { ...(JSON.parse(encodeDirectoryState(state)) as object), ...change };
  expect(() => decodeDirectoryState(JSON.stringify(document), 'x')).toThrow(message);
});
