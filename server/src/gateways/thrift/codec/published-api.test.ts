/** The hand-written codec against the published file: every name, number and type, by what goes over the wire; and the file against itself as it was published. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SqlError } from '../sql/sql-error.ts';
import { callMessage, type Fields, readReply, textOf, type Values } from '../testing/thrift-client.ts';
import * as api from './barista-api.ts';

const text = readFileSync(new URL('../../../../../clients/barista.thrift', import.meta.url), 'utf8');

interface Field {
  readonly id: number;
  readonly type: string;
  readonly name: string;
}

const plain = text.replace(/\/\*[^]*?\*\/|\/\/.*/g, '');

function fieldsOf(body: string): readonly Field[] {
  const pattern = /(\d+):\s*(?:optional|required)?\s*((?:list\s*<\s*\w+\s*>)|\w+)\s+(\w+)/g;
  return [...body.matchAll(pattern)].map(([, id, type = '', name = '']) => ({
    id: Number(id),
    type: type.replaceAll(/\s/g, ''),
    name,
  }));
}

const structs = new Map(
  [...plain.matchAll(/(?:struct|exception)\s+(\w+)\s*\{([^}]*)\}/g)].map(([, name = '', body = '']) => [
    name,
    fieldsOf(body),
  ]),
);
const methods = new Map(
  [...(/service Barista \{([^}]*)\}/.exec(plain)?.[1] ?? '').matchAll(/(\w+)\s+(\w+)\s*\(([^)]*)\)/g)]
    .filter(([, type]) => type !== undefined && type !== 'throws')
    .map(([, type = '', name = '', body = '']) => [name, { type, fields: fieldsOf(body) }]),
);

/** A value of each field that says which one it is. */
function sample(fields: readonly Field[]): Fields {
  const values = fields.map(({ id, type, name }): [number, Fields[number]] => {
    const inner = structs.get(type);
    if (inner !== undefined) return [id, sample(inner)];
    return [id, type.startsWith('list') ? [name] : name];
  });
  return Object.fromEntries(values);
}

/** How the fields are called in the code. */
const camel = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function namesOf(struct: string): Record<string, string> {
  return Object.fromEntries((structs.get(struct) ?? []).map(({ name }) => [camel(name), name]));
}

describe('the API', () => {
  it('is the published one', () => {
    expect([...structs.keys()]).toEqual([
      'ConnectionParams',
      'Connection',
      'Tuple',
      'ResultSet',
      'DBException',
    ]);
    expect(methods.size).toBe(8);
    expect(/VERSION = ([\d.]+)/.exec(plain)?.[1]).toBe(String(api.apiVersion));
    const digest = createHash('sha256').update(plain.replaceAll(/\s+/g, ' ').trim()).digest('hex');
    expect(digest.slice(0, 16)).toBe('d51a4e642b325ed5');
  });

  it.each([...methods])('%s is read with all of its arguments', (name, { fields }) => {
    const { call } = api.readCall(callMessage(name, sample(fields)));
    const known = {
      con: namesOf('Connection'),
      con_params: namesOf('ConnectionParams'),
      query: Buffer.from('query'),
      query_params: [Buffer.from('query_params')],
    };
    const args = Object.entries(known).filter(([argument]) => fields.some((each) => each.name === argument));
    expect(args).toHaveLength(fields.length);
    const read = args.map(([argument, value]) => [argument.replace(/^(con|query)_/, ''), value]);
    expect(call).toEqual({ method: name, ...Object.fromEntries(read) });
  });

  it('answers with the published structs', () => {
    const read = { name: 'execute_sql', sequence: 7, call: { method: 'get_version' } as const };
    const con = namesOf('Connection');
    const result = {
      rowCount: 5,
      tuples: { count: 0, bytes: [] },
      fieldNames: [Buffer.from('field_names')],
      fieldTypes: ['field_types'],
    };
    const told = (reply: api.Reply): Values => readReply(api.replyMessage(read, reply, false)).values;
    const set = told(api.resultReply(con, result))[0] as Values;
    const idOf = (name: string): number =>
      structs.get('ResultSet')?.find((field) => field.name === name)?.id ?? 0;
    expect(set[idOf('status')]).toBe(true);
    expect(set[idOf('row_count')]).toBe(5);
    expect(set[idOf('tuples')]).toEqual([]);
    for (const name of ['field_names', 'field_types'])
      expect((set[idOf(name)] as Buffer[]).map(String)).toEqual([name]);
    const back = set[idOf('con')] as Values;
    for (const { id, name } of structs.get('Connection') ?? []) expect(textOf(back[id])).toBe(name);
    const error = new SqlError({ sqlState: '23505', message: 'twice', detail: 'd', hint: 'h' });
    expect(told(api.errorReply(error))[1]).toEqual({
      1: Number.parseInt('23505', 36),
      2: Buffer.from('twice'),
      3: Buffer.from('23505\nDETAIL: d\nHINT: h'),
    });
    expect(told(api.versionReply)[0]).toBe(0.1);
    expect(told(null)).toEqual({});
  });
});
