/** What clients and servers have said to each other: whole sessions of psql, pgbench and node-postgres, recorded by capture-sessions.ts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface CapturedSession {
  readonly name: string;
  /** What the client said, from the startup packet on. */
  readonly front: Buffer;
  /** What it was told. */
  readonly back: Buffer;
}

export const capturedFile = fileURLToPath(new URL('../goldens/sessions.json', import.meta.url));

export function readCapturedSessions(): readonly CapturedSession[] {
  const found = JSON.parse(readFileSync(capturedFile, 'utf8')) as Record<
    string,
    Record<'front' | 'back', string>
  >;
  return Object.entries(found).map(([name, { front, back }]) => ({
    name,
    front: Buffer.from(front, 'hex'),
    back: Buffer.from(back, 'hex'),
  }));
}

/** Without the startup packet, and the password. */
export function messagesOf({ front }: CapturedSession): Buffer {
  let at = front.readInt32BE(0);
  while (front[at] === 0x70) at += 1 + front.readInt32BE(at + 1);
  return front.subarray(at);
}
