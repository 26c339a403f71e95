/**
 * What the replica relies on in every DatabaseServer and DatabaseDirectory, as one suite that PostgreSQL's adapter and the model of PostgreSQL run against themselves.
 *
 * A test of either calls `describeDatabase` with a way to make a fixture.
 */
import { afterEach, describe } from 'vitest';
import { directoryFacts } from './contract/directory-facts.ts';
import { gateFacts } from './contract/gate-facts.ts';
import { promotionFacts } from './contract/promotion-facts.ts';
import { standbyFacts } from './contract/standby-facts.ts';
import { transactionFacts } from './contract/transaction-facts.ts';
import { type DatabaseFixture, FedStandby, type TestLog } from './database-fixture.ts';
import type { WalPosition } from '../../payload/wal/wal-history.ts';
import { foundDatabase, resumePrimary, type TestPrimary } from './test-primary.ts';

/** What the facts are tested with; everything that it made is gone after each test. */
export interface ContractContext {
  readonly fixture: () => Promise<DatabaseFixture>;
  /** The primary of a group that was just founded. Nothing is chosen of what it writes. */
  readonly primary: () => Promise<TestPrimary>;
  /** The same, with standbys that are fed what is chosen. */
  readonly group: (standbys: number) => Promise<TestGroup>;
}

export interface TestGroup {
  readonly log: TestLog;
  readonly base: WalPosition;
  readonly primary: TestPrimary;
  readonly standbys: readonly FedStandby[];
}

export function describeDatabase(name: string, open: () => Promise<DatabaseFixture>): void {
  describe(`the contract of the database ports: ${name}`, () => {
    const made: DatabaseFixture[] = [];
    afterEach(async () => {
      await Promise.all(made.splice(0).map((fixture) => fixture.dispose()));
    });
    async function fixture(): Promise<DatabaseFixture> {
      const one = await open();
      made.push(one);
      return one;
    }
    const context: ContractContext = {
      fixture,
      async primary() {
        const one = await fixture();
        const { log } = await foundDatabase(one);
        return resumePrimary(one, log);
      },
      async group(count) {
        const one = await fixture();
        const { log, base } = await foundDatabase(one);
        const copies: DatabaseFixture[] = [];
        for (let n = 0; n < count; n++) copies.push(await one.clone());
        made.push(...copies);
        const primary = await resumePrimary(one, log);
        const standbys = await Promise.all(copies.map((copy) => FedStandby.start(copy, log, base)));
        return { log, base, primary, standbys };
      },
    };
    gateFacts(context);
    transactionFacts(context);
    standbyFacts(context);
    promotionFacts(context);
    directoryFacts(context);
  });
}
