/** COPY ... FROM STDIN over a `pg` client, for tests: `pg` itself has the messages but no query that uses them. */
import type { Client } from 'pg';

interface CopyConnection {
  query(sql: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

export function copyIn(client: Client, sql: string, chunks: Iterable<string>): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | null = null;
    const copy = {
      submit: (connection: CopyConnection): void => connection.query(sql),
      handleCopyInResponse: (connection: CopyConnection): void => {
        for (const chunk of chunks) connection.sendCopyFromChunk(Buffer.from(chunk));
        connection.endCopyFrom();
      },
      handleError: (error: Error): void => {
        failure = error;
        reject(error);
      },
      handleCommandComplete: (): void => undefined,
      handleReadyForQuery: (): void => {
        if (failure === null) resolve();
      },
    };
    client.query(copy as unknown as Parameters<Client['query']>[0] & { submit: never });
  });
}
