import { expect, it } from 'vitest';
import { cuts } from '../gateways/pgwire/testing/frames.ts';
import { BindParameters } from './bind-parameters.ts';
import { headerBytes } from './frame-splitter.ts';
import { bind } from './frontend-messages.ts';

function parametersOf(chunks: readonly Buffer[]): string[] {
  const found: string[] = [];
  const reader = new BindParameters(8, (value) => found.push(value));
  for (const chunk of chunks) reader.push(chunk, 0, chunk.length);
  return found;
}

function bound(parameters: readonly (string | Buffer)[]): Buffer {
  return bind({ portal: 'p', statement: 'long statement', parameters }).subarray(headerBytes);
}

it('short parameters of a Bind message are found however it is cut', () => {
  const payload = bound(['app.user', '', '123456789', 'x'.repeat(1000), 'last']);
  for (const chunks of cuts(payload)) expect(parametersOf(chunks)).toEqual(['app.user', '', 'last']);
});

it('a Bind message without parameters has none, and one that is cut short has those that are whole', () => {
  expect(parametersOf([bound([])])).toEqual([]);
  const payload = bound(['one', 'two']);
  for (let end = 0; end < payload.length - 2; end += 1)
    expect(['one', 'two']).toEqual(expect.arrayContaining(parametersOf([payload.subarray(0, end)])));
});

it('NULL is no parameter that is looked at, and formats are passed over', () => {
  const payload = Buffer.from('\0\0\0\x02\0\x01\0\0\0\x02\xff\xff\xff\xff\0\0\0\x01x\0\0', 'latin1');
  expect(parametersOf([payload])).toEqual(['x']);
});
