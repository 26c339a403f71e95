import { describe, expect, it } from 'vitest';
import * as send from '../../../../pgwire/frontend-messages.ts';
import { cuts, frame } from '../../testing/frames.ts';
import { RequestReader } from './request-reader.ts';

const setting = "SET barista.read_consistency = 'linearizable'";
const change = { kind: 'change', name: 'barista.read_consistency', value: 'linearizable' };
const run = (statement: string): Buffer =>
  Buffer.concat([send.bind({ portal: '', statement }), send.execute('')]);

function reader(): RequestReader {
  return new RequestReader(1_048_576);
}

describe('a SET', () => {
  it('is seen however the network cuts it', () => {
    for (const message of [
      send.query(setting),
      Buffer.concat([send.parse('', setting), run(''), send.sync]),
    ]) {
      for (const pieces of cuts(message)) {
        const one = reader();
        const read = pieces.map((piece) => one.read(piece));
        expect(Buffer.concat(read.map(({ chunk }) => chunk))).toEqual(message);
        expect(read.filter(({ mention }) => mention !== null).map(({ mention }) => mention)).toEqual([
          change,
        ]);
      }
    }
  });

  it('is followed when it is executed, not when it is prepared, as often as that is', () => {
    const one = reader();
    expect(one.read(Buffer.concat([send.parse('s', setting), send.sync])).mention).toBeNull();
    for (let times = 0; times < 2; times++) {
      const request = one.read(Buffer.concat([run('s'), send.sync]));
      expect(request).toMatchObject({ mention: change, isLoneStatement: true });
    }
    one.read(Buffer.concat([send.closeStatement('s'), send.parse('s', 'SELECT 1'), send.sync]));
    expect(one.read(Buffer.concat([run('s'), send.sync])).mention).toBeNull();
  });

  it('is not alone beside a statement that was prepared before', () => {
    const one = reader();
    one.read(Buffer.concat([send.parse('s', 'SELECT 1'), send.sync]));
    const both = Buffer.concat([send.parse('', setting), run('s'), send.sync]);
    expect(one.read(both).isLoneStatement).toBe(false);
    const opened = Buffer.concat([send.parse('', setting), send.execute('portal'), send.sync]);
    expect(one.read(opened).isLoneStatement).toBe(false);
    const twice = Buffer.concat([send.parse('', setting), run(''), run('s'), send.sync]);
    expect(one.read(twice).isLoneStatement).toBe(false);
  });

  it('is not hidden by what resets everything before it', () => {
    const both = Buffer.concat([send.query('RESET ALL'), send.query(setting)]);
    expect(reader().read(both)).toMatchObject({ mention: change, isLoneStatement: false });
  });
});

it('holds back the beginning of a message of text that is short, and nothing else', () => {
  const one = reader();
  const select = send.query('SELECT 1');
  const read = one.read(Buffer.concat([select, select.subarray(0, 8)]));
  expect(read).toMatchObject({ chunk: select, readies: 1 });
  expect(one.read(select.subarray(8))).toMatchObject({ chunk: select, readies: 1 });
  const long = frame('Q', `SELECT ${' '.repeat(100_000)}1\0`);
  expect(one.read(long.subarray(0, 50_000))).toMatchObject({ chunk: long.subarray(0, 50_000), readies: 0 });
  const data = frame('d', 'x'.repeat(100));
  expect(reader().read(data.subarray(0, 50)).chunk).toHaveLength(50);
});

describe('what a request is', () => {
  const select = 'SELECT 1';

  it('is known of one statement alone, in either protocol, prepared before or not', () => {
    const one = reader();
    expect(one.read(send.query(select)).kind).toBe('query');
    expect(one.read(Buffer.concat([send.parse('', select), run(''), send.sync])).kind).toBe('query');
    one.read(Buffer.concat([send.parse('s', select), send.sync]));
    expect(one.read(Buffer.concat([run('s'), send.sync])).kind).toBe('query');
    expect(one.read(Buffer.concat([run('s'), run('s'), send.sync])).kind).toBeNull();
    expect(one.read(Buffer.concat([send.query(select), send.query(select)])).kind).toBeNull();
  });

  it('is forgotten with the statement, and where another takes its name', () => {
    const one = reader();
    one.read(Buffer.concat([send.parse('s', select), send.sync]));
    one.read(Buffer.concat([send.parse('s', 'COMMIT AND CHAIN'), send.sync]));
    expect(one.read(Buffer.concat([run('s'), send.sync])).kind).toBeNull();
    one.read(Buffer.concat([send.closeStatement('s'), send.parse('s', select), send.sync]));
    // Too long to be kept until all of it is there.
    const long = send.parse('s', `${' '.repeat(100_000)}COMMIT AND CHAIN`);
    one.read(Buffer.concat([send.closeStatement('s'), long.subarray(0, 50_000)]));
    one.read(Buffer.concat([long.subarray(50_000), send.sync]));
    expect(one.read(Buffer.concat([run('s'), send.sync])).kind).toBeNull();
  });
});
