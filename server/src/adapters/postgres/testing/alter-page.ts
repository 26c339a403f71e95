/** For tests: changes what is in a table's file, as a disk or a bug might: the page is whole, with a right checksum, and holds something else. PostgreSQL does not run. */
import { open } from 'node:fs/promises';
import { pageBytes, pageChecksum } from '../copy/page.ts';

const checksumAt = 8;

/**
 * Puts `to` in the place of the first `from` in the file; both have the same length. Pages that PostgreSQL writes again from its WAL are changed in vain: a checkpoint must be above the newest change.
 * @throws Error if it is not there
 */
export async function alterPage(path: string, from: string, to: string): Promise<void> {
  if (from.length !== to.length) throw new Error(`"${to}" is not as long as "${from}"`);
  const file = await open(path, 'r+');
  try {
    const bytes = await file.readFile();
    const at = bytes.indexOf(from);
    if (at === -1) throw new Error(`there is no "${from}" in ${path}`);
    bytes.write(to, at);
    const block = Math.floor(at / pageBytes);
    const page = block * pageBytes;
    bytes.writeUInt16LE(pageChecksum(bytes, page, block), page + checksumAt);
    await file.write(bytes, page, pageBytes, page);
  } finally {
    await file.close();
  }
}
