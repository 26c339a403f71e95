import { describe, expect, it } from 'vitest';
import { bind, execute, flush, parse, query, sync, terminate } from '../../../pgwire/frontend-messages.ts';
import { frameOf } from '../../../pgwire/backend-messages.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { type Cut, RequestCutter } from './request-cutter.ts';

const bounds = { frameBytesMax: 2000, requestBytesMax: 1000, copyBytesMax: 100 };
const data = (text: string): Buffer => frameOf(front.copyData, Buffer.from(text));
const copyDone = frameOf(front.copyDone, Buffer.alloc(0));

function cutterWith(...messages: readonly Buffer[]): RequestCutter {
  const cutter = new RequestCutter(bounds);
  cutter.feed(Buffer.concat(messages));
  return cutter;
}

function all(cutter: RequestCutter): Cut[] {
  const cuts: Cut[] = [];
  for (let cut = cutter.take(); cut !== null; cut = cutter.take()) cuts.push(cut);
  return cuts;
}

const request = (...messages: readonly Buffer[]): Cut => ({
  kind: 'request',
  bytes: Buffer.concat(messages),
  hidesReady: false,
});

const extended = [parse('', 'SELECT 1'), bind({ portal: '', statement: '' }), execute('')];

describe('requests of a client', () => {
  it('are each Query, and the extended messages up to each Sync', () => {
    const cutter = cutterWith(query('SELECT 1'), ...extended, sync, ...extended, sync, terminate);
    expect(all(cutter)).toEqual([
      request(query('SELECT 1')),
      request(...extended, sync),
      request(...extended, sync),
      { kind: 'terminate' },
    ]);
  });

  it('are the same however the stream is cut', () => {
    const stream = Buffer.concat([query('SELECT 1'), ...extended, sync]);
    const cutter = new RequestCutter(bounds);
    const cuts: Cut[] = [];
    for (const byte of stream) {
      cutter.feed(Buffer.from([byte]));
      cuts.push(...all(cutter));
    }
    expect(cuts).toEqual([request(query('SELECT 1')), request(...extended, sync)]);
  });

  it('end at a Flush that asks for no execution, and are answered behind a Sync', () => {
    const cutter = cutterWith(
      parse('s', 'SELECT 1'),
      flush,
      bind({ portal: '', statement: 's' }),
      execute(''),
      sync,
    );
    expect(cutter.take()).toEqual({
      kind: 'request',
      bytes: Buffer.concat([parse('s', 'SELECT 1'), sync]),
      hidesReady: true,
    });
    cutter.answered(false, true);
    expect(all(cutter)).toEqual([request(bind({ portal: '', statement: 's' }), execute(''), sync)]);
  });

  it('pass over what follows a failed one that a Flush had ended, up to the Sync', () => {
    const cutter = cutterWith(
      parse('s', 'SELEC'),
      flush,
      bind({ portal: '', statement: 's' }),
      execute(''),
      sync,
    );
    cutter.take();
    cutter.answered(true, true);
    expect(all(cutter)).toEqual([request(sync)]);
  });

  it('are refused with a Flush behind an Execute, and all up to the Sync with it', () => {
    const cutter = cutterWith(...extended, flush, execute(''), sync, query('SELECT 1'));
    expect(all(cutter)).toMatchObject([
      { kind: 'refused', isReady: false, error: { sqlState: '0A000' } },
      request(sync),
      request(query('SELECT 1')),
    ]);
  });

  it('are refused where a Query comes behind extended messages', () => {
    const cutter = cutterWith(...extended, query('SELECT 1'), query('SELECT 2'));
    expect(all(cutter)).toMatchObject([{ kind: 'refused', isReady: true }, request(query('SELECT 2'))]);
  });

  it('are refused beyond their bound, and the next one is heard', () => {
    const long = query('x'.repeat(1100));
    expect(all(cutterWith(long, query('SELECT 1')))).toMatchObject([
      { kind: 'refused', isReady: true, error: { sqlState: '54000' } },
      request(query('SELECT 1')),
    ]);
    const much = Array.from({ length: 12 }, () => parse('', 'x'.repeat(90)));
    expect(all(cutterWith(...much, sync, query('SELECT 1')))).toMatchObject([
      { kind: 'refused', isReady: false },
      request(sync),
      request(query('SELECT 1')),
    ]);
  });

  it('are the whole data of a COPY that asks for it', () => {
    const cutter = cutterWith(query('COPY t FROM STDIN'));
    all(cutter);
    cutter.copies('simple');
    cutter.feed(data('1\n'));
    expect(cutter.take()).toBeNull();
    cutter.feed(Buffer.concat([data('2\n'), copyDone, query('SELECT 1')]));
    expect(cutter.take()).toEqual(request(data('1\n'), data('2\n'), copyDone));
    cutter.answered(false, false);
    expect(all(cutter)).toEqual([request(query('SELECT 1'))]);
  });

  it('have a COPY fail whose data is beyond its bound', () => {
    const cutter = cutterWith(query('COPY t FROM STDIN'));
    all(cutter);
    cutter.copies('simple');
    cutter.feed(Buffer.concat([data('x'.repeat(60)), data('x'.repeat(60)), data('x'), copyDone]));
    const [cut] = all(cutter);
    expect(cut).toMatchObject({ kind: 'request' });
    const { bytes } = cut as Extract<Cut, { kind: 'request' }>;
    expect(bytes[0]).toBe(front.copyFail);
    expect(bytes.toString()).toContain('more than 100 bytes');
    cutter.answered(true, false);
    cutter.feed(query('SELECT 1'));
    expect(all(cutter)).toEqual([request(query('SELECT 1'))]);
  });

  it('end a COPY of the extended protocol with the Sync behind it', () => {
    const cutter = cutterWith(...extended, sync);
    all(cutter);
    cutter.copies('extended');
    cutter.feed(Buffer.concat([sync, data('1\n'), copyDone]));
    expect(cutter.take()).toBeNull();
    cutter.feed(sync);
    expect(all(cutter)).toEqual([request(data('1\n'), copyDone, sync)]);
  });

  it('ignore the data of a COPY that is over', () => {
    const cutter = cutterWith(data('1\n'), copyDone, query('SELECT 1'));
    expect(all(cutter)).toEqual([request(query('SELECT 1'))]);
  });

  it('have no messages that no client sends', () => {
    expect(() => all(cutterWith(frameOf('~'.charCodeAt(0), Buffer.alloc(0))))).toThrow(ProtocolViolation);
  });
});
