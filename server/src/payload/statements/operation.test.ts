import { describe, expect, it } from 'vitest';
import {
  decodeOperation,
  encodeOperation,
  type Operation,
  OperationError,
  parametersMax,
  requestBytesMax,
  seedBytes,
  wordOf,
} from './operation.ts';

const session = '00112233445566778899aabbccddeeff';
const request: Operation = {
  kind: 'request',
  session,
  seq: 7,
  what: 'commit',
  bytes: Buffer.from('Q\0\0\0\u000bCOMMIT\0', 'latin1'),
  clockUs: 1_700_000_000_000_000,
  seed: Buffer.alloc(seedBytes, 9),
};
const samples: readonly Operation[] = [
  {
    kind: 'open',
    session,
    user: 'bärbel',
    database: 'd',
    parameters: [
      ['options', '-c a=b'],
      ['application_name', 'caf\u00e9'],
    ],
    clockUs: 5,
  },
  request,
  { kind: 'close', session },
  { kind: 'cancelOpen', session: null },
  { kind: 'cancelOpen', session },
  { kind: 'pause', copy: 'c1', source: 'r2' },
];

describe('operations', () => {
  it.each(samples)('$kind is read as it was written', (operation) => {
    expect(decodeOperation(encodeOperation(operation))).toEqual(operation);
  });

  it.each(samples)('$kind that is cut short is refused', (operation) => {
    const bytes = encodeOperation(operation);
    // Of a request the end is the client's, whatever it is.
    const least = operation.kind === 'request' ? bytes.length - operation.bytes.length + 1 : bytes.length;
    for (let end = 0; end < least; end += 1)
      expect(() => decodeOperation(bytes.subarray(0, end))).toThrow(OperationError);
  });

  it.each(samples.filter(({ kind }) => kind !== 'request'))(
    '$kind with something behind it is refused',
    (operation) => {
      const longer = Buffer.concat([encodeOperation(operation), Buffer.from([0])]);
      expect(() => decodeOperation(longer)).toThrow(OperationError);
    },
  );

  it('another version, an unknown kind and words that are none are refused', () => {
    const bytes = Buffer.from(encodeOperation(request));
    for (const [at, value] of [
      [0, 9],
      [1, 2],
      [48, 4],
    ] as const) {
      const changed = Buffer.from(bytes);
      changed[at] = value;
      expect(() => decodeOperation(changed)).toThrow(OperationError);
    }
  });

  it('what is beyond the bounds is not written', () => {
    const open = samples[0] as Extract<Operation, { kind: 'open' }>;
    const many = Array.from({ length: parametersMax + 1 }, () => ['a', 'b'] as const);
    const wrong: readonly Operation[] = [
      { ...open, parameters: many },
      { ...open, user: 'x'.repeat(10_001) },
      { ...open, session: 'xx' },
      { ...open, clockUs: -1 },
      { ...request, bytes: Buffer.alloc(0) },
      { ...request, bytes: Buffer.alloc(requestBytesMax + 1) },
      { ...request, seed: Buffer.alloc(3) },
      { ...request, seq: 2 ** 48 },
      { ...request, clockUs: 0.5 },
    ];
    for (const operation of wrong) expect(() => encodeOperation(operation)).toThrow(OperationError);
  });

  it('people are told what a request is', () => {
    expect(samples.map(wordOf)).toEqual(['open', 'commit', 'close', 'cancelOpen', 'cancelOpen', 'pause']);
  });
});
