/** A small record that outlives a replica's database and its process: one file of JSON. */
import { exists, writeDurably, readFile } from './file-system.ts';

export interface RecordFile<R> {
  readonly record: R;
  write(record: R): Promise<void>;
}

/** `nothing`: what it says until it is written first. @throws Error: it is there and cannot be read: what was promised is not known */
export async function openRecordFile<R>(path: string, nothing: R): Promise<RecordFile<R>> {
  const record = (await exists(path)) ? (JSON.parse(await readFile(path, 'utf8')) as R) : nothing;
  return { record, write: (next) => writeDurably(path, JSON.stringify(next)) };
}
