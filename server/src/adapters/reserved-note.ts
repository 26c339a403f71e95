/** A small note that can be made durable on a full disk: its room is taken ahead, by a file `PATH.reserve` that becomes the note. */
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exists, syncPath, writeDurably } from './file-system.ts';

/** `text`: what the note says where nothing else can be written any more. */
export async function reserveNote(path: string, text: string): Promise<void> {
  if (!(await exists(reserveOf(path)))) await writeDurably(reserveOf(path), text);
}

/** The note is there, durably, with `text` or with what was reserved. @throws the errors of node:fs */
export async function writeReserved(path: string, text: string): Promise<void> {
  try {
    await writeDurably(path, text);
  } catch (error) {
    if (!(await exists(reserveOf(path)))) throw error;
    await rename(reserveOf(path), path);
    await syncPath(dirname(path));
  }
}

const reserveOf = (path: string): string => `${path}.reserve`;
