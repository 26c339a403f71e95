/** Ends a client's connection with last words, which the client is given some time to read. */
import type { Duplex } from 'node:stream';

export function closeWithWords(client: Duplex, words: readonly Buffer[], waitMs: number): void {
  if (client.destroyed) return;
  client.removeAllListeners('data');
  if (words.length === 0) client.end();
  else client.end(Buffer.concat(words));
  const linger = setTimeout(() => client.destroy(), waitMs);
  client.once('close', () => clearTimeout(linger));
  // What the client sends yet is thrown away, or its own last words would keep the connection from closing.
  client.resume();
}
