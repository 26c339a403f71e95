/**
 * What the replica relies on in every DatabaseServer and DatabaseDirectory, as one suite that PostgreSQL's adapter and the model of PostgreSQL run against themselves.
 *
 * A test of either calls `describeDatabase` with a way to make a fixture.
 */
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { directoryFacts } from './contract/directory-facts.ts';
import { gateFacts } from './contract/gate-facts.ts';
import { promotionFacts } from './contract/promotion-facts.ts';
import { standbyFacts } from './contract/standby-facts.ts';
import { timelineStartFacts } from './contract/timeline-start-facts.ts';
import { transactionFacts } from './contract/transaction-facts.ts';
import { type DatabaseFixture, FedStandby, type TestLog } from './database-fixture.ts';
import type { WalPosition } from '../../wal/position.ts';
import { foundDatabase, type Foundation, logOf, resumePrimary, type TestPrimary } from './test-primary.ts';

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
    /** Made once: facts begin with copies of it. */
    let template: { readonly fixture: DatabaseFixture; readonly foundation: Foundation };
    beforeAll(async () => {
      const one = await open();
      template = { fixture: one, foundation: await foundDatabase(one) };
    });
    afterAll(() => template.fixture.dispose());
    afterEach(async () => {
      await Promise.all(made.splice(0).map((fixture) => fixture.dispose()));
    });
    async function copy(): Promise<DatabaseFixture> {
      const one = await template.fixture.clone();
      made.push(one);
      return one;
    }
    const context: ContractContext = {
      async fixture() {
        const one = await open();
        made.push(one);
        return one;
      },
      async primary() {
        return resumePrimary(await copy(), logOf(template.foundation));
      },
      async group(count) {
        const log = logOf(template.foundation);
        const base = log.position;
        const primary = await resumePrimary(await copy(), log);
        const standbys: FedStandby[] = [];
        for (let n = 0; n < count; n++) standbys.push(await FedStandby.start(await copy(), log, base));
        return { log, base, primary, standbys };
      },
    };
    gateFacts(context);
    transactionFacts(context);
    standbyFacts(context);
    promotionFacts(context);
    timelineStartFacts(context);
    directoryFacts(context);
  });
}
