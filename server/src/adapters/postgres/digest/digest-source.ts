/**
 * The DigestSource port over a replica's own PostgreSQL: one read-only transaction whose snapshot is that of the slot, read table by table.
 *
 * Everything is summed up inside PostgreSQL, so memory stays small. Locks are given back after each table (a savepoint that is rolled back), so that a
 * comparison does not stand in the way of a change of the schema for long; if there was one, the digest is refused instead (see
 * schemaVersionSql). The snapshot keeps VACUUM from removing what died since, as any long query does.
 */
import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import type { DataDigest } from '../../../ports/control.ts';
import type { ApplicationPointer } from '../../../ports/database.ts';
import { DigestError } from '../../../ports/digest.ts';
import type { DigestSnapshot, DigestSource, PreparedDigest } from '../../../ports/digest.ts';
import { toDatabaseError } from '../database-error.ts';
import { connectPg } from '../pg-client.ts';
import { beginReading } from '../pointer.ts';
import type { PostgresServer } from '../postgres-server.ts';
import {
  agreedPositionsSql,
  comparisonSettings,
  schemaQueries,
  schemaVersionSql,
  tableDigestSql,
  tablesSql,
} from './catalog-sql.ts';

type DigestObject = DataDigest['objects'][number];
type Address = Pick<PostgresServer, 'socketDir' | 'database'>;

type Row = readonly (string | null)[];

const doing = 'comparing the data';

export function createDigestSource({ socketDir, database }: Address): DigestSource {
  const address = { socketDir, database };
  return {
    async prepare(): Promise<PreparedDigest> {
      const client = await connectForReading(address);
      return {
        async open() {
          try {
            const pointer = await beginReading(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
            const { rows } = await client.query<{ name: string; digest: string }>(agreedPositionsSql);
            const sequences = rows.map(
              ({ name, digest }) => ({ kind: 'sequence', name, rows: 0, digest }) as const,
            );
            return new Snapshot(address, client, pointer, sequences);
          } catch (error) {
            await client.end().catch(() => undefined);
            throw toDatabaseError(error, doing);
          }
        },
        close: () => end(client),
      };
    },
  };
}

class Snapshot implements DigestSnapshot {
  readonly pointer: ApplicationPointer;
  private readonly address: Address;
  private readonly client: Client;
  private readonly sequences: readonly DigestObject[];

  constructor(
    address: Address,
    client: Client,
    pointer: ApplicationPointer,
    sequences: readonly DigestObject[],
  ) {
    this.address = address;
    this.client = client;
    this.pointer = pointer;
    this.sequences = sequences;
  }

  async digest(signal: AbortSignal): Promise<DataDigest> {
    signal.throwIfAborted();
    const pid = await this.value('SELECT pg_backend_pid()::text');
    const cancel = (): void => void this.cancel(pid);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const version = await this.value(schemaVersionSql);
      const objects = await this.read(signal).catch(async (error: unknown) => {
        signal.throwIfAborted();
        // A table that is gone cannot be read: tell why.
        await this.expectSchemaVersion(version);
        throw toDatabaseError(error, doing);
      });
      await this.expectSchemaVersion(version);
      return { slot: this.pointer.pointer, objects };
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  close(): Promise<void> {
    return end(this.client);
  }

  private async read(signal: AbortSignal): Promise<DigestObject[]> {
    const objects: DigestObject[] = [...this.sequences];
    for (const query of schemaQueries) {
      signal.throwIfAborted();
      for (const [name, text] of await this.unlocked(query)) {
        const digest = createHash('sha256')
          .update(text ?? '')
          .digest('hex')
          .slice(0, 32);
        objects.push({ kind: 'schema', name: name ?? '', rows: 0, digest });
      }
    }
    for (const [name] of await this.unlocked(tablesSql)) {
      signal.throwIfAborted();
      const [sum] = await this.unlocked(tableDigestSql(name ?? ''));
      objects.push({ kind: 'table', name: name ?? '', rows: Number(sum?.[0]), digest: sum?.[1] ?? '' });
    }
    return objects;
  }

  /** What the query locked is free again afterwards. One round trip. */
  private async unlocked(query: string): Promise<readonly Row[]> {
    const text = `SAVEPOINT reading; ${query}; ROLLBACK TO SAVEPOINT reading; RELEASE SAVEPOINT reading`;
    const results = await this.client.query<(string | null)[]>({ text, rowMode: 'array' });
    return (results as unknown as readonly { readonly rows: readonly Row[] }[])[1]?.rows ?? [];
  }

  private async value(query: string): Promise<string> {
    const result = await this.client.query<string[]>({ text: query, rowMode: 'array' });
    return result.rows[0]?.[0] ?? '';
  }

  /** The schema as it is now, against that of the snapshot. */
  private async expectSchemaVersion(version: string): Promise<void> {
    const client = await connectForReading(this.address);
    try {
      const { rows } = await client.query<{ version: string }>(schemaVersionSql);
      if (rows[0]?.version === version) return;
    } finally {
      await end(client);
    }
    throw new DigestError('the schema was changed, or a table truncated, while it was compared');
  }

  private async cancel(pid: string): Promise<void> {
    try {
      const client = await connectForReading(this.address);
      await client.query('SELECT pg_cancel_backend($1::int)', [pid]);
      await end(client);
    } catch {
      // PostgreSQL is away, and the query with it.
    }
  }
}

async function connectForReading(address: Address): Promise<Client> {
  try {
    const client = await connectPg(address);
    for (const [name, value] of Object.entries(comparisonSettings)) {
      await client.query('SELECT set_config($1, $2, false)', [name, value]);
    }
    return client;
  } catch (error) {
    throw toDatabaseError(error, doing);
  }
}

async function end(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
