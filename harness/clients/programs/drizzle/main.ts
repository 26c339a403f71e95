/** Drizzle: its migrations, its query builder and its transactions. */
import { fileURLToPath } from 'node:url';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { placesOf, rotatingPool } from '../rotating-pool.ts';
import { changes, makeAll } from '../transfers.ts';

const account = pgTable('account', {
  id: integer().primaryKey(),
  balance: integer().notNull(),
});
const transferTable = pgTable('transfer', {
  id: text().primaryKey(),
  debit: integer().references(() => account.id),
  credit: integer().references(() => account.id),
  amount: integer(),
  note: text(),
});

const pool = rotatingPool(placesOf(process.env), 4);
const db = drizzle({ client: pool });
await migrate(db, { migrationsFolder: fileURLToPath(new URL('migrations', import.meta.url)) });
await db.insert(account).values(Array.from({ length: 10 }, (_, n) => ({ id: n + 1, balance: 100 })));

await makeAll(async (transfer) => {
  await db.transaction(async (tx) => {
    const made = await tx
      .insert(transferTable)
      .values({ ...transfer, note: 'by Drizzle' })
      .onConflictDoNothing()
      .returning({ id: transferTable.id });
    if (made.length === 0) return;
    for (const [id, by] of changes(transfer)) {
      await tx
        .update(account)
        .set({ balance: sql`${account.balance} + ${by}` })
        .where(eq(account.id, id));
    }
  });
});
// Drizzle does not give back a connection whose BEGIN fails: the pool would wait for it.
process.exit();
