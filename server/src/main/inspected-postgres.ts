/** What people are told of a replica's PostgreSQL that only it can tell: what its clients are at, and what its files are called. */
import { relationNames } from '../adapters/postgres/inspection/relation-names.ts';
import { TransactionView } from '../adapters/postgres/inspection/transaction-view.ts';
import { answerMs, connectPg } from '../adapters/postgres/pg-client.ts';
import type { InspectedDatabase } from './show-replica.ts';

/** `tellsSql`: the text of statements is told. */
export function inspectedPostgres(socketDir: string, tellsSql: boolean): InspectedDatabase {
  const silentMsMax = answerMs.quick;
  const view = new TransactionView({
    connect: () => connectPg({ socketDir, database: 'postgres', silentMsMax }),
    tellsSql,
  });
  return {
    look: () => view.look(),
    names: (files) => relationNames(files, (database) => connectPg({ socketDir, database, silentMsMax })),
    close: () => void view.close(),
  };
}
