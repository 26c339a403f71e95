import { describe, expect, it } from 'vitest';
import { frame } from '../testing/frames.ts';
import * as back from '../../../pgwire/backend-messages.ts';
import * as send from '../../../pgwire/frontend-messages.ts';

describe('messages of a client', () => {
  it.each([
    ['portal', 's'],
    ['', ''],
    ['p\u00e4', 'x'.repeat(63)],
  ])('the names in Bind are read as they were written: %j %j', (portal, statement) => {
    const bytes = send.bind({ portal, statement, parameters: ['a', 'é'] });
    const read = send.readBindNames(bytes, 5, bytes.length);
    expect(Buffer.from(read.statement, 'latin1').toString()).toBe(statement);
    expect(Buffer.from(read.portal, 'latin1').toString()).toBe(portal);
    expect(read.whole).toBe(true);
  });

  it('of longer names as much is read as PostgreSQL looks at', () => {
    const bytes = send.bind({ portal: 'p'.repeat(64), statement: 's'.repeat(100) });
    const read = send.readBindNames(bytes, 5, bytes.length);
    expect(read).toEqual({ portal: 'p'.repeat(63), statement: 's'.repeat(63), whole: true });
  });

  it('a Bind of which only the beginning is there is told as such', () => {
    const bytes = send.bind({ portal: 'portal', statement: 'statement' });
    const end = bytes.indexOf(0, 5 + 'portal\0'.length) + 1;
    for (let to = 5; to < end; to += 1) {
      expect(send.readBindNames(bytes.subarray(0, to), 5, to).whole).toBe(false);
    }
    expect(send.readBindNames(bytes.subarray(0, end), 5, end).whole).toBe(true);
  });
});

describe('messages of PostgreSQL', () => {
  it('reads back the fields of an error', () => {
    const bytes = back.errorResponse('FATAL', { sqlState: '57P01', message: 'gone\0', hint: 'reconnect' });
    expect(Object.fromEntries(back.readErrorFields(bytes))).toEqual({
      S: 'FATAL',
      V: 'FATAL',
      C: '57P01',
      M: 'gone',
      H: 'reconnect',
    });
    expect(bytes.readInt32BE(1)).toBe(bytes.length - 1);
  });

  it('passes bytes of any encoding through an error', () => {
    const bytes = frame('E', 'C42601\0Mna\u00efve\0\0');
    expect(back.errorFromFields(back.readErrorFields(Buffer.from(bytes)))).toEqual(bytes);
  });

  it('reads what is whole of an error that is cut short', () => {
    const bytes = back.errorResponse('ERROR', { sqlState: '22012', message: 'division by zero' });
    for (let to = 5; to < bytes.length; to += 1) {
      const fields = back.readErrorFields(bytes.subarray(0, to));
      for (const value of fields.values()) expect(['ERROR', '22012', 'division by zero']).toContain(value);
    }
  });

  it.each([
    ['VFATAL\0C57P01\0\0', true],
    ['SFATAL\0VERROR\0C22012\0\0', false],
    ['SERREUR\0VPANIC\0\0', true],
    ['SFATAL\0C57P01\0\0', true],
    ['SERROR\0VERROR\0C22012\0MFATAL\0\0', false],
  ])('knows by its severity whether an error ends the session: %j', (fields, ends) => {
    expect(back.endsSession(back.readErrorFields(frame('E', fields)))).toBe(ends);
  });

  it('knows NULL and missing columns from values', () => {
    expect(back.firstColumn(frame('D', '\0\u0001\0\0\0\u0002ab'))).toBe('ab');
    expect(
      back.firstColumn(Buffer.concat([frame('D', '\0\u0001'), Buffer.from([255, 255, 255, 255])])),
    ).toBeNull();
    expect(back.firstColumn(frame('D', '\0\0'))).toBeNull();
  });

  it('reads a tag as it was written', () => {
    expect(back.commandTag(back.commandComplete('INSERT 0 1'))).toBe('INSERT 0 1');
  });

  it.each(['I', 'T', 'E'] as const)('says %s when ready', (status) => {
    const bytes = back.readyForQuery(status);
    expect(bytes.toString('latin1')).toBe(`Z\0\0\0\u0005${status}`);
    expect(back.statusOf(bytes.at(-1)!)).toBe(status);
  });
});
