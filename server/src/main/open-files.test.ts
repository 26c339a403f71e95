import { expect, it } from 'vitest';
import { boundsThatFit, openFilesMax } from './open-files.ts';

const wanted = { clientsMax: 500, openingMax: 2_000, provingMax: 3_000 };

it('all that is wanted is held where there is room', () => {
  expect(boundsThatFit(wanted, 65_536, true)).toEqual(wanted);
  expect(boundsThatFit(wanted, null, true)).toEqual(wanted);
});

it.each([
  ['4096', 4096, false, { clientsMax: 500, openingMax: 947, provingMax: 1420 }],
  ['1024', 1024, false, { clientsMax: 84, openingMax: 51, provingMax: 76 }],
  ['4096 with Thrift', 4096, true, { clientsMax: 500, openingMax: 347, provingMax: 520 }],
])(
  'strangers have what clients leave, and these leave them some: of %s files',
  (_, files, hasThrift, held) => {
    const fitted = boundsThatFit(wanted, files, hasThrift);
    expect(fitted).toEqual(held);
    const files2 = fitted.clientsMax * 2 + fitted.openingMax + fitted.provingMax;
    expect(files2 + 600 + 128 + (hasThrift ? 1_500 : 0)).toBeLessThanOrEqual(files);
  },
);

it('too few files are refused with words', () => {
  expect(() => boundsThatFit(wanted, 256, false)).toThrow(/may have 256 files open, and a replica needs 888/);
});

it('the limit of this process is known', () => {
  expect(openFilesMax()).toBeGreaterThan(255);
});
