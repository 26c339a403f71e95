/** What becomes of an answer that was gathered: a result of the API, or an error. */
import type { ResultSet } from '../codec/barista-api.ts';
import { cellsOf } from '../codec/tuples.ts';
import * as errors from '../errors.ts';
import { type Answer, rowsOfTag } from './answer.ts';
import { SqlError } from './sql-error.ts';
import type { TypeNames } from './type-names.ts';

const cancelled = '57014';

/** Null: it was done. */
export function problemOf({ refusal, error }: Answer, bytesMax: number): SqlError | null {
  if (refusal === null || (error !== null && error.sqlState !== cancelled && refusal !== 'copy'))
    return error === null ? null : new SqlError(error);
  if (refusal === 'copy') return errors.noCopy();
  return refusal === 'noMemory' ? errors.noMemory() : errors.resultTooLong(bytesMax, error === null);
}

export async function resultOf({ columns, tuples, tag }: Answer, typeNames: TypeNames): Promise<ResultSet> {
  return {
    rowCount: Math.max(tuples.length, rowsOfTag(tag ?? '')),
    tuples: { count: tuples.length, bytes: tuples },
    fieldNames: columns.map(({ name }) => name),
    fieldTypes: await typeNames.of(columns.map(({ type }) => type)),
  };
}

/** Of the answer to `typesQuestion`. */
export function namesIn({ tuples }: Answer): readonly (readonly [number, string])[] {
  return tuples.map((tuple) => {
    const [number, name] = cellsOf(tuple);
    return [Number(number?.toString()), name?.toString() ?? ''] as const;
  });
}
