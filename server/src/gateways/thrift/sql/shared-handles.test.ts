import { describe, expect, it } from 'vitest';
import type { SessionId } from '../../../ports/statement-sessions.ts';
import { SharedHandles } from './shared-handles.ts';

const session = '00112233445566778899aabbccddeeff' as SessionId;
const of = { clientId: 'a:b', seqId: '1', user: 'u', database: 'd' };
const handles = new SharedHandles('a secret of the cluster');
const made = handles.make(session, of);

describe('handles that are valid at every replica', () => {
  it('are read where they were not made', () => {
    const known = new SharedHandles('a secret of the cluster').read({ ...made, seqId: '9' });
    expect(known?.session).toBe(session);
    expect(known?.isName('1')).toBe(false);
    expect(known?.isName('2')).toBe(true);
  });

  it.each([
    ['another user', { ...made, user: 'v' }],
    ['another database', { ...made, database: 'e' }],
    ['no user', { clientId: made.clientId ?? '', database: 'd' }],
    ['another client', { ...made, clientId: `x${made.clientId}` }],
    ['no proof', { ...made, clientId: 'a:b' }],
    ['nothing', {}],
    ['a shorter proof', { ...made, clientId: made.clientId?.slice(0, -1) ?? '' }],
    ['the handle of a cluster with another secret', new SharedHandles('another').make(session, of)],
  ])('are worth nothing with %s', (_what, handle) => {
    expect(handles.read(handle)).toBeNull();
  });

  it('are worth nothing with any character changed', () => {
    const text = made.clientId ?? '';
    // Its last character has bits that stand for nothing.
    for (let at = 'a:b:'.length; at < text.length - 1; at += 1) {
      const other = text[at] === 'A' ? 'B' : 'A';
      const clientId = text.slice(0, at) + other + text.slice(at + 1);
      expect(handles.read({ ...made, clientId })).toBeNull();
    }
  });
});
