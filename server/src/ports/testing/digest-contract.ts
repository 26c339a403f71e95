/**
 * What comparisons rely on in every DigestSource, as one suite that PostgreSQL's adapter and the model of PostgreSQL run against themselves.
 *
 * A test of either calls `describeDigests` with a way to make a fixture.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { DataDigest } from '../control.ts';
import type { DigestSource, SnapshotView } from '../digest.ts';
import { type DatabaseFixture, FedStandby, never, until } from './database-fixture.ts';
import { foundDatabase, type Foundation, logOf, resumePrimary, type TestPrimary } from './test-primary.ts';

export interface DigestFixture extends DatabaseFixture {
  digests(): DigestSource;
  clone(): Promise<DigestFixture>;
}

const slot = 7 as Slot;

export function describeDigests(name: string, open: () => Promise<DigestFixture>): void {
  describe(`the contract of digests: ${name}`, () => {
    const made: DigestFixture[] = [];
    let template: { readonly fixture: DigestFixture; readonly foundation: Foundation };
    beforeAll(async () => {
      const fixture = await open();
      template = { fixture, foundation: await foundDatabase(fixture) };
    });
    afterAll(() => template.fixture.dispose());
    afterEach(async () => {
      await Promise.all(made.splice(0).map((fixture) => fixture.dispose()));
    });
    async function clone(): Promise<DigestFixture> {
      const one = await template.fixture.clone();
      made.push(one);
      return one;
    }
    /** All that it writes is chosen at once. */
    async function setUp() {
      const fixture = await clone();
      const primary = await resumePrimary(fixture, logOf(template.foundation));
      primary.chooseAlways();
      await put(primary, 'one');
      return { fixture, primary };
    }

    it('of a primary and of a standby with the same WAL are the same', async () => {
      const { fixture, primary } = await setUp();
      await put(primary, 'two');
      const other = await clone();
      const standby = await FedStandby.start(other, primary.log, logOf(template.foundation).position);
      await standby.untilReplayed(primary.log.position.end);
      await standby.look();
      const [ofPrimary, ofStandby] = [await digestOf(fixture), await digestOf(other)];
      expect(ofPrimary.slot).toBe(slot);
      expect(ofPrimary.hasSequences).toBe(false);
      expect(tablesIn(ofPrimary).length).toBeGreaterThan(0);
      expect(tablesIn(ofStandby)).toEqual(tablesIn(ofPrimary));
      await put(primary, 'three');
      expect(tablesIn(await digestOf(fixture))).not.toEqual(tablesIn(ofStandby));
    });

    it('are of the moment in which the snapshot was opened', async () => {
      const { fixture, primary } = await setUp();
      const before = await digestOf(fixture);
      const prepared = await fixture.digests().prepare();
      const snapshot = await prepared.open(slot, () => false, never);
      await put(primary, 'later');
      const digest = await snapshot.digest(never);
      await snapshot.close();
      expect(tablesIn(digest)).toEqual(tablesIn(before));
      expect(tablesIn(await digestOf(fixture))).not.toEqual(tablesIn(before));
    });

    it('show what is missing as soon as it can be seen, and wait for it: a commit that waits cannot', async () => {
      const { fixture, primary } = await setUp();
      primary.choosesAll = false;
      const session = await primary.connect();
      await session.put('waits');
      const xid = await session.xid();
      const committing = session.commit();
      const views: SnapshotView[] = [];
      const isShown = (view: SnapshotView): boolean => xid < view.end && !view.running.has(xid);
      const prepared = await fixture.digests().prepare();
      const opening = prepared.open(
        slot,
        (view) => {
          views.push(view);
          return !isShown(view);
        },
        never,
      );
      await until(fixture.timers, () => views.length > 2);
      expect(views.filter(isShown)).toEqual([]);
      const before = await digestOf(fixture);
      primary.chooseAlways();
      await committing;
      const snapshot = await opening;
      expect(snapshot.views.length).toBeGreaterThan(0);
      expect(snapshot.views.every(isShown)).toBe(true);
      expect(tablesIn(await snapshot.digest(never))).not.toEqual(tablesIn(before));
      await snapshot.close();
    });

    it('are given up with the reason', async () => {
      const { fixture } = await setUp();
      const control = new AbortController();
      let asked = 0;
      const isMissing = (): boolean => {
        asked += 1;
        if (asked === 3) control.abort(new Error('enough'));
        return true;
      };
      const prepared = await fixture.digests().prepare();
      await expect(prepared.open(slot, isMissing, control.signal)).rejects.toThrow('enough');
      expect(asked).toBe(3);
    });

    it('that are being read are given up with the reason, too', async () => {
      const { fixture } = await setUp();
      const prepared = await fixture.digests().prepare();
      const snapshot = await prepared.open(slot, () => false, never);
      const digesting = snapshot.digest(AbortSignal.abort(new Error('enough')));
      await expect(digesting).rejects.toThrow('enough');
      await snapshot.close();
    });

    it('need a PostgreSQL that runs', async () => {
      const { fixture } = await setUp();
      const prepared = await fixture.digests().prepare();
      await fixture.server.stop('immediate');
      await expect(fixture.digests().prepare()).rejects.toBeInstanceOf(Error);
      await expect(prepared.open(slot, () => false, never)).rejects.toBeInstanceOf(Error);
    });

    it('that were begun are none when PostgreSQL goes away', async () => {
      const { fixture } = await setUp();
      const prepared = await fixture.digests().prepare();
      const snapshot = await prepared.open(slot, () => false, never);
      await fixture.server.stop('immediate');
      await expect(snapshot.digest(never)).rejects.toBeInstanceOf(Error);
      await snapshot.close();
    });
  });
}

async function put(primary: TestPrimary, value: string): Promise<void> {
  const session = await primary.connect();
  await session.put(value);
  await session.commit();
  session.close();
}

async function digestOf(fixture: DigestFixture): Promise<DataDigest> {
  const prepared = await fixture.digests().prepare();
  const snapshot = await prepared.open(slot, () => false, never);
  try {
    return await snapshot.digest(never);
  } finally {
    await snapshot.close();
  }
}

/** In an order of their own. */
function tablesIn({ objects }: DataDigest): readonly string[] {
  return objects
    .filter(({ kind }) => kind === 'table')
    .map((object) => JSON.stringify(object))
    .toSorted();
}
