import { expect, it } from 'vitest';
import type { ReplicaChangeStatus } from '../../../server/src/api/replica-changes.ts';
import { mayAsk, viewOfChange } from './replica-change.ts';

const idle: ReplicaChangeStatus = { state: 'idle', text: 'Nothing.', added: null, replaced: null };
const joining: ReplicaChangeStatus = {
  state: 'joining',
  text: 'r4 was started, and is expected; when it votes, r1 goes.',
  added: 'r4',
  replaced: 'r1',
};

it('a replacement that goes on at the server is told of by whoever comes back, and nothing else may be asked but that the new one goes', () => {
  expect(viewOfChange(joining, null, null)).toEqual({
    state: 'joining',
    text: joining.text,
    isUnderWay: true,
  });
  expect(mayAsk(joining, null, { action: 'add' })).toBe(false);
  expect(mayAsk(joining, null, { action: 'remove', replica: 'r1' })).toBe(false);
  expect(mayAsk(joining, null, { action: 'replace', replica: 'r4' })).toBe(false);
  expect(mayAsk(joining, null, { action: 'remove', replica: 'r4' })).toBe(true);
});

it('what was sent is told at once, and nothing is sent beside it', () => {
  const sent = { action: 'remove', replica: 'r2' } as const;
  expect(viewOfChange(idle, sent, null)).toEqual({
    state: 'asked',
    text: 'r2 is taken from the members…',
    isUnderWay: true,
  });
  expect(mayAsk(idle, sent, { action: 'add' })).toBe(false);
  expect(mayAsk(idle, null, { action: 'add' })).toBe(true);
});

it('a request that was refused says why; before the demo has told how far it is, nothing is asked', () => {
  expect(viewOfChange(idle, null, 'too few would be left')).toEqual({
    state: 'failed',
    text: 'too few would be left',
    isUnderWay: false,
  });
  expect(viewOfChange(joining, null, 'too few would be left').text).toBe(joining.text);
  expect(viewOfChange(null, null, null).state).toBe('idle');
  expect(mayAsk(null, null, { action: 'add' })).toBe(false);
});
