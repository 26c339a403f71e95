import { describe, expect, it } from 'vitest';
import { JuteError, createJuteReader, createJuteWriter } from './jute.ts';
import { create, getData, multi, requestPacket, type WriteOp } from './protocol.ts';

const ops: readonly WriteOp[] = [
  { kind: 'set', path: '/a', data: new Uint8Array([1]), version: 3 },
  { kind: 'create', path: '/b', data: new Uint8Array() },
  { kind: 'delete', path: '/c', version: -1 },
];

/** The reply to a multi: [type, what follows] of each result. */
function multiReply(results: readonly (readonly [number, Buffer])[]): Buffer {
  const header = (type: number, done: boolean): Buffer => {
    const writer = createJuteWriter();
    writer.int(type);
    writer.bool(done);
    writer.int(-1);
    return writer.packet().subarray(4);
  };
  return Buffer.concat([...results.flatMap(([type, body]) => [header(type, false), body]), header(-1, true)]);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const hex = (text: string): string => text.replaceAll(' ', '');
const stat = Buffer.alloc(68);
const path = Buffer.concat([int(2), Buffer.from('/b')]);
const answer = (reply: Buffer) => multi(ops).read(createJuteReader(reply));

describe('requests', () => {
  it('a getData and a create are what ZooKeeper documents', () => {
    expect(requestPacket(5, getData('/a')).toString('hex')).toBe(
      hex('0000000f 00000005 00000004 00000002 2f61 00'),
    );
    const world = '00000005 776f726c64 00000006 616e796f6e65';
    expect(requestPacket(6, create('/b', new Uint8Array([255]))).toString('hex')).toBe(
      hex(`00000032 00000006 00000001 00000002 2f62 00000001 ff 00000001 0000001f ${world} 00000000`),
    );
  });
});

describe('the answer to a multi', () => {
  it('is null if all was done', () => {
    expect(
      answer(
        multiReply([
          [5, stat],
          [1, path],
          [2, Buffer.alloc(0)],
        ]),
      ),
    ).toBeNull();
  });

  it('names the op that failed, not those that failed with it', () => {
    const failure = answer(
      multiReply([
        [-1, int(0)],
        [-1, int(-110)],
        [-1, int(-2)],
      ]),
    );
    expect(failure?.op).toBe(ops[1]);
    expect(failure?.error).toMatchObject({ code: 'nodeExists', message: expect.stringContaining('/b') });
  });

  it('is refused if it is of another multi', () => {
    expect(() =>
      answer(
        multiReply([
          [5, stat],
          [1, path],
        ]),
      ),
    ).toThrow(JuteError);
    const four = multiReply([
      [5, stat],
      [1, path],
      [2, Buffer.alloc(0)],
      [2, Buffer.alloc(0)],
    ]);
    expect(() => answer(four)).toThrow(JuteError);
  });
});
