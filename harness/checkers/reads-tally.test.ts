import { expect, it } from 'vitest';
import { modesWithoutReads, tallyReads } from './reads-tally.ts';
import { callsOf, inMode, type ScriptedCall } from './testing/script.ts';

const read: ScriptedCall = { f: 'read', from: 0, to: 1, asked: null, answer: [] };
const modes = ['linearizable', 'bounded'] as const;

it('reads are counted by their mode, where they were answered, and whether', () => {
  const calls = callsOf([
    read,
    { ...read, ...inMode('linearizable') },
    { ...read, ...inMode('linearizable', { by: 'leader' }) },
    { ...read, ...inMode('bounded'), outcome: 'fail' },
  ]);
  expect(tallyReads(calls, modes)).toEqual([
    { mode: 'linearizable', atFollowers: 1, atLeader: 1, refused: 0 },
    { mode: 'bounded', atFollowers: 0, atLeader: 0, refused: 1 },
  ]);
});

it('a mode is tried when one of several histories has a read of it that a follower answered', () => {
  const leaders = tallyReads(callsOf([{ ...read, ...inMode('bounded', { by: 'leader' }) }]), modes);
  const followers = tallyReads(callsOf([{ ...read, ...inMode('bounded') }]), modes);
  expect(modesWithoutReads(leaders)).toEqual(['linearizable', 'bounded']);
  expect(modesWithoutReads([...leaders, ...followers])).toEqual(['linearizable']);
  expect(modesWithoutReads([])).toEqual([]);
});
