/**
 * Reads what _barista.harvest returns: one array of byte strings in PostgreSQL's binary form per row.
 *
 * The first element is a letter and, for some, a relation's name; the second the statement's text for people. Then:
 * I, D rows; U all rows before, then all after; T nothing; X statement, role, then names and values of settings;
 * S last value, is_called, exact; Z nothing (serializable); R SQLSTATE, message, hint; Q role and name of a request;
 * P slot (or nothing) and tag of the transaction that was committed under this name before. Pure.
 */
import type { Effect } from '../../apply/effects.ts';
import type { HarvestRow } from '../../ports/session-sql.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** array_send of a one-dimensional bytea[]: dimensions, flags, element type, then length and lower bound. */
const headerBytes = 20;

function readArray(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const malformed = (): Error => new Error('Malformed harvest row');
  if (bytes.byteLength < headerBytes || view.getInt32(0) !== 1) throw malformed();
  const count = view.getInt32(12);
  const values: string[] = [];
  let at = headerBytes;
  for (let i = 0; i < count; i += 1) {
    if (at + 4 > bytes.byteLength) throw malformed();
    const length = view.getInt32(at);
    at += 4;
    if (length < 0 || at + length > bytes.byteLength) throw malformed();
    values.push(utf8.decode(bytes.subarray(at, at + length)));
    at += length;
  }
  if (at !== bytes.byteLength) throw malformed();
  return values;
}

function readSettings(values: readonly string[]): Record<string, string> {
  const settings: Record<string, string> = {};
  for (let i = 0; i + 1 < values.length; i += 2) settings[values[i] ?? ''] = values[i + 1] ?? '';
  return settings;
}

/** @throws Error if the bytes are not a harvest row: the database is not ours */
export function decodeHarvestRow(row: Uint8Array): HarvestRow {
  const [head = '', sqlText = '', ...rest] = readArray(row);
  const relation = head.slice(1);
  const sql = sqlText === '' ? null : sqlText;
  const effect = (value: Effect): HarvestRow => ({ kind: 'effect', effect: value, sql });
  switch (head.charAt(0)) {
    case 'I':
      return effect({ kind: 'insert', relation, rows: rest });
    case 'D':
      return effect({ kind: 'delete', relation, rows: rest });
    case 'U': {
      const half = rest.length / 2;
      if (!Number.isInteger(half))
        throw new Error('Malformed harvest row: an update with an odd number of rows');
      return effect({ kind: 'update', relation, before: rest.slice(0, half), after: rest.slice(half) });
    }
    case 'T':
      return effect({ kind: 'truncate', relation });
    case 'X': {
      const [statement = '', role = '', ...settings] = rest;
      return effect({ kind: 'ddl', sql: statement, role, settings: readSettings(settings) });
    }
    case 'S': {
      const [lastValue = '', isCalled, exact] = rest;
      return effect({
        kind: 'sequence',
        relation,
        lastValue,
        isCalled: isCalled === 'true',
        exact: exact === 'true',
      });
    }
    case 'Z':
      return { kind: 'serializable' };
    case 'R': {
      const [sqlState = '', message = '', hint = ''] = rest;
      return { kind: 'refused', sqlState, message, hint };
    }
    case 'Q': {
      const [role = '', id = ''] = rest;
      return { kind: 'request', role, id };
    }
    case 'P': {
      const [slot = '', tag = ''] = rest;
      return { kind: 'committedBefore', slot: slot === '' ? null : Number(slot), tag };
    }
    default:
      throw new Error(`Malformed harvest row: kind ${head.charAt(0)}`);
  }
}
