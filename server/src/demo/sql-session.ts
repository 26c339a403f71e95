/** A session of the demo's own at a replica's port for SQL clients, with which the demo must be done whatever that replica does. */
import { Client, type ClientConfig } from 'pg';
import { demoHost, demoUser } from './layout.ts';
import { createMessageBound, tooLongError } from './message-bound.ts';

const endMs = 500;

/** Not connected yet. What breaks its connection its queries tell. */
export function sessionAt(port: number, config: ClientConfig): Client {
  const client = new Client({ host: demoHost, port, ...demoUser, ...config });
  // Without a listener it would end the process.
  client.on('error', () => {});
  const { stream } = connectionOf(client);
  const tooLong = createMessageBound();
  // Before pg looks at the same bytes.
  stream.on('data', (chunk) => {
    const bytes = stream.destroyed ? null : tooLong(chunk);
    if (bytes !== null) stream.destroy(tooLongError(bytes));
  });
  return client;
}

/** What pg has, but its types do not tell of. */
interface Connection {
  readonly stream: {
    readonly destroyed: boolean;
    destroy(error?: Error): void;
    on(event: 'data', listener: (chunk: Buffer) => void): void;
  };
  on(event: 'commandComplete', listener: (message: { readonly text: string }) => void): void;
  on(event: 'copyOutResponse', listener: (message: { readonly binary: boolean }) => void): void;
  /** A row, or a part of what goes before and behind the rows of the binary format. */
  on(event: 'copyData', listener: (message: { readonly chunk: Buffer }) => void): void;
  /** pg refuses to send any. */
  on(event: 'copyInResponse', listener: () => void): void;
}
export const connectionOf = (client: Client): Connection =>
  (client as unknown as { readonly connection: Connection }).connection;

/** Soon: one whose other end is frozen would not end by itself. */
export function endSession(client: Client): void {
  const { stream } = connectionOf(client);
  const timer = setTimeout(() => stream.destroy(), endMs);
  client.end().then(
    () => clearTimeout(timer),
    () => stream.destroy(),
  );
}
