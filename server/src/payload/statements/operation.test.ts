import { describe, expect, it } from 'vitest';
import {
  decodeOperation,
  encodeOperation,
  levelAskedBy,
  type Operation,
  OperationError,
  parametersMax,
  requestBytesMax,
  seedBytes,
  wordOf,
} from './operation.ts';
import { processIdOf } from './operation.ts';

const session = '00112233445566778899aabbccddeeff';
const request: Extract<Operation, { kind: 'request' }> = {
  kind: 'request',
  session,
  seq: 7,
  what: 'commit',
  bytes: Buffer.from('Q\0\0\0\u000bCOMMIT\0', 'latin1'),
  clockUs: 1_700_000_000_000_000,
  seed: Buffer.alloc(seedBytes, 9),
};
const mark = { name: 'ab'.repeat(16), digest: 'cd'.repeat(16) };
const call: Extract<Operation, { kind: 'request' }> = {
  ...request,
  call: { ...mark, needs: 'block', isNamed: true },
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
  { ...request, level: 'async' },
  { ...request, level: 'majority' },
  { ...request, level: 'semi' },
  { ...request, level: 'sync' },
  { ...request, isCompared: false, level: 'sync' },
  call,
  { ...call, isCompared: false, call: { ...mark, needs: 'any', isNamed: false } },
  { kind: 'close', session },
  { kind: 'close', session, ifSeq: 2 ** 40 },
  { kind: 'cancelOpen', session: null },
  { kind: 'cancelOpen', session },
  { kind: 'pause', name: 'c1'.repeat(16) },
  { kind: 'resume', name: 'c1'.repeat(16) },
  { kind: 'closeAll', name: 'c1'.repeat(16), prefix: 'abcd' },
  { kind: 'hold', run: { slot: 2 ** 40, turn: 300, round: 2 }, session, seq: 7, replica: 'r3' },
  { kind: 'goOn', run: { slot: 9, turn: 0, round: 0 } },
  { kind: 'cancelOpen', session: null, pause: 'ab'.repeat(16) },
  { kind: 'adopt', name: 'ef'.repeat(16), replica: 'r2' },
];

describe('the level that an operation asks for', () => {
  it('is told without reading the rest of it', () => {
    for (const operation of samples)
      expect(levelAskedBy(encodeOperation(operation))).toBe(
        operation.kind === 'request' ? operation.level : undefined,
      );
    expect(levelAskedBy(new Uint8Array(0))).toBeUndefined();
  });

  it.each([0x14, 0x1c, 0x20, 0x40])('is one of four: %s is none of them', (word) => {
    const bytes = Buffer.from(encodeOperation(request));
    bytes[48]! |= word;
    expect(() => decodeOperation(bytes)).toThrow(OperationError);
  });
});

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
      [48, 0x20],
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
    expect([...new Set(samples.map(wordOf))]).toEqual([
      'open',
      'commit',
      'close',
      'cancelOpen',
      'pause',
      'resume',
      'closeAll',
      'hold',
      'goOn',
      'adopt',
    ]);
  });
});

it('sessions of one replica have process ids of their own', () => {
  const ids = Array.from({ length: 100 }, (_, n) =>
    processIdOf(`0123abcd${n.toString(16).padStart(24, '0')}`),
  );
  expect(new Set(ids).size).toBe(100);
  expect(ids.filter((id) => id < 1 || id > 0x7fff_ffff)).toEqual([]);
});
