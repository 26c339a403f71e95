/**
 * Messages that a client sends: reads the names in those that the gateway looks into, writes those that it sends of its own accord.
 *
 * Pure. Whether a message is whole is PostgreSQL's to judge: what is cut short is read as far as it goes.
 */
import { frameOf } from './backend-messages.ts';
import { front } from './message-types.ts';
import { placeWithin } from './sql-bytes.ts';

/** A zero-terminated string that begins at `from`: where it ends, or `to` if it is not terminated before that. */
export function stringEnd(bytes: Buffer, from: number, to: number): number {
  return from < to ? placeWithin(bytes, 0, from, to) : to;
}

/** PostgreSQL knows statements and portals by the beginnings of their names: two that are alike so far are the same. */
const nameBytesMax = 63;

/** The name that begins at `from` and ends at `end`, as far as PostgreSQL looks at it. */
export function shortName(bytes: Buffer, from: number, end: number): string {
  return bytes.toString('latin1', from, Math.min(end, from + nameBytesMax));
}

export interface BindNames {
  readonly portal: string;
  readonly statement: string;
  /** Both were read to their ends. */
  readonly whole: boolean;
}

/** `from`, `to`: the payload of a Bind message in `bytes`, or its beginning. */
export function readBindNames(bytes: Buffer, from: number, to: number): BindNames {
  const portalEnd = stringEnd(bytes, from, to);
  const begin = Math.min(portalEnd + 1, to);
  const end = stringEnd(bytes, begin, to);
  return {
    portal: shortName(bytes, from, portalEnd),
    statement: shortName(bytes, begin, end),
    whole: end < to,
  };
}

export function query(sql: string): Buffer {
  return frameOf(front.query, cString(sql));
}

/** A string goes in UTF-8. */
export function parse(statement: string, sql: string | Buffer): Buffer {
  const text = typeof sql === 'string' ? cString(sql) : Buffer.concat([sql, Buffer.of(0)]);
  return frameOf(front.parse, Buffer.concat([cString(statement), text, int16(0)]));
}

/** Parameters and results in text; a string goes in UTF-8. */
export function bind(options: {
  readonly portal: string;
  readonly statement: string;
  readonly parameters?: readonly (string | Buffer)[];
}): Buffer {
  const parameters = options.parameters ?? [];
  const values = parameters.flatMap((parameter) => {
    const bytes = typeof parameter === 'string' ? Buffer.from(parameter, 'utf8') : parameter;
    return [int32(bytes.length), bytes];
  });
  const names = [cString(options.portal), cString(options.statement)];
  return frameOf(
    front.bind,
    Buffer.concat([...names, int16(0), int16(parameters.length), ...values, int16(0)]),
  );
}

export function execute(portal: string): Buffer {
  return frameOf(front.execute, Buffer.concat([cString(portal), int32(0)]));
}

export function closeStatement(statement: string): Buffer {
  return frameOf(front.close, cString(`S${statement}`));
}

export function closePortal(portal: string): Buffer {
  return frameOf(front.close, cString(`P${portal}`));
}

export function describePortal(portal: string): Buffer {
  return frameOf(front.describe, cString(`P${portal}`));
}

/** Runs a statement and leaves nothing of it, nor touches what has no name. Without a Sync: what follows runs in its transaction, or is passed over if it fails. */
export function runsAs(name: string, sql: string): Buffer {
  return Buffer.concat([
    parse(name, sql),
    bind({ portal: name, statement: name }),
    execute(name),
    closePortal(name),
    closeStatement(name),
  ]);
}

/** The data of a COPY does not come to its end: `reason` is told to the client. */
export function copyFail(reason: string): Buffer {
  return frameOf(front.copyFail, cString(reason));
}

export const sync = frameOf(front.sync, Buffer.alloc(0));
export const flush = frameOf(front.flush, Buffer.alloc(0));
export const terminate = frameOf(front.terminate, Buffer.alloc(0));

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf8');
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value, 0);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value, 0);
  return buffer;
}
