/**
 * What the replica relies on in every CopySource and in whatever receives its copies, as one suite that PostgreSQL's adapter and the model of PostgreSQL run against themselves.
 *
 * A test of either calls `describeCopies` with a way to make a fixture.
 */
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';
import { type CopiedDatabase, CopyError, type CopySource } from '../copy.ts';
import type { DirectoryState } from '../database-directory.ts';
import { type DatabaseFixture, FedStandby, never, until } from './database-fixture.ts';
import { foundDatabase, type Foundation, logOf, resumePrimary, type TestPrimary } from './test-primary.ts';

/** What a source knows of the chosen WAL. */
export interface ChosenHere {
  readonly position: () => Pick<DirectoryState, 'position' | 'configuration'>;
  readonly awaitChosen: (lsn: Lsn, signal: AbortSignal) => Promise<boolean>;
}

export interface ReceiveOptions {
  readonly channel: Duplex;
  readonly from: ReplicaId;
  readonly isOfUse: (position: WalPosition) => boolean;
  readonly signal: AbortSignal;
}

export interface CopyFixture extends DatabaseFixture {
  source(chosen: ChosenHere): CopySource;
  /** Into this one's directory. */
  receive(options: ReceiveOptions): Promise<CopiedDatabase>;
  /** Its end and that of another replica. */
  channel(): Promise<readonly [Duplex, Duplex]>;
  clone(): Promise<CopyFixture>;
}

const from = 'r1' as ReplicaId;

export function describeCopies(name: string, open: () => Promise<CopyFixture>): void {
  describe(`the contract of copies: ${name}`, () => {
    const made: CopyFixture[] = [];
    let template: { readonly fixture: CopyFixture; readonly foundation: Foundation };
    beforeAll(async () => {
      const fixture = await open();
      template = { fixture, foundation: await foundDatabase(fixture) };
    });
    afterAll(() => template.fixture.dispose());
    afterEach(async () => {
      await Promise.all(made.splice(0).map((fixture) => fixture.dispose()));
    });
    async function keep(opening: Promise<CopyFixture>): Promise<CopyFixture> {
      const one = await opening;
      made.push(one);
      return one;
    }
    /** A primary with two values, all of them chosen, and a replica with nothing. */
    async function setUp() {
      const fixture = await keep(template.fixture.clone());
      const primary = await resumePrimary(fixture, logOf(template.foundation));
      primary.chooseAlways();
      await put(primary, 'one');
      await put(primary, 'two');
      return { fixture, primary, target: await keep(open()) };
    }
    /** What is chosen counts as durable. */
    const chosenBy = ({ log, fixture }: TestPrimary): ChosenHere => ({
      position: () => ({ position: log.position, configuration: null }),
      async awaitChosen(lsn) {
        await until(fixture.timers, () => log.position.end >= lsn);
        return true;
      },
    });

    it('of a primary is a standby’s, and goes on with what is chosen later', async () => {
      const { fixture, primary, target } = await setUp();
      const copied = await copy(fixture.source(chosenBy(primary)), target);
      expect(copied.from).toBe(from);
      const { position } = copied;
      expect(await target.directory.inspect()).toEqual({
        kind: 'usable',
        state: { role: { kind: 'standby' }, position, configuration: null },
      });
      await put(primary, 'three');
      const standby = await FedStandby.start(target, primary.log, position);
      await standby.untilReplayed(primary.log.position.end);
      await standby.look();
      expect(await valuesOf(target)).toEqual(['one', 'two', 'three']);
    });

    it('of a standby is a standby’s, too', async () => {
      const { primary, target } = await setUp();
      const middle = await keep(template.fixture.clone());
      const base = logOf(template.foundation).position;
      const standby = await FedStandby.start(middle, primary.log, base);
      await standby.untilReplayed(primary.log.position.end);
      const copied = await copy(middle.source(chosenBy(primary)), target);
      expect(await target.directory.inspect()).toMatchObject({ state: { role: { kind: 'standby' } } });
      const again = await FedStandby.start(target, primary.log, copied.position);
      await again.untilReplayed(primary.log.position.end);
      await again.look();
      expect(await valuesOf(target)).toEqual(['one', 'two']);
    });

    it('is complete when all that it holds is chosen, and not before', async () => {
      const { fixture, primary, target } = await setUp();
      primary.choosesAll = false;
      const waiting = await primary.connect();
      await waiting.put('not chosen yet');
      void waiting.commit().catch(() => undefined);
      const asked: Lsn[] = [];
      let isOver = false;
      const copying = copy(
        fixture.source({
          ...chosenBy(primary),
          async awaitChosen(lsn) {
            asked.push(lsn);
            await until(fixture.timers, () => primary.log.position.end >= lsn);
            return true;
          },
        }),
        target,
      );
      void copying.finally(() => {
        isOver = true;
      });
      await until(fixture.timers, () => asked.length > 0);
      const [needed] = asked;
      expect(needed).toBeGreaterThan(primary.log.position.end);
      expect(isOver).toBe(false);
      expect(await roleIn(target)).toBe('copying');
      primary.chooseAlways();
      const { position } = await copying;
      expect(position.end).toBeGreaterThanOrEqual(needed!);
    });

    it('is none of a source that loses its leadership before all of it is chosen', async () => {
      const { fixture, primary, target } = await setUp();
      const source = fixture.source({ ...chosenBy(primary), awaitChosen: () => Promise.resolve(false) });
      await expect(copy(source, target)).rejects.toMatchObject({ code: 'transferFailed' });
      expect(await roleIn(target)).toBe('copying');
    });

    it('is not begun where the log does not go on from it', async () => {
      const { fixture, primary, target } = await setUp();
      const refused = copy(fixture.source(chosenBy(primary)), target, { isOfUse: () => false });
      await expect(refused).rejects.toMatchObject({ code: 'tooOld' });
      expect(await target.directory.inspect()).toEqual({ kind: 'missing' });
    });

    it('is none where the log does not go on from it any more', async () => {
      const { fixture, primary, target } = await setUp();
      let asked = 0;
      const isOfUse = (): boolean => (asked += 1) === 1;
      const refused = copy(fixture.source(chosenBy(primary)), target, { isOfUse });
      await expect(refused).rejects.toMatchObject({ code: 'tooOld' });
      expect(await roleIn(target)).toBe('copying');
    });

    it('is refused by a source that has none, with its reason', async () => {
      const { fixture, primary, target } = await setUp();
      const position = (): never => {
        throw new CopyError('sourceUnavailable', 'there is no database');
      };
      const source = fixture.source({ ...chosenBy(primary), position });
      const refusal = { code: 'sourceUnavailable', message: 'there is no database' };
      await expect(copy(source, target)).rejects.toMatchObject(refusal);
      expect(await target.directory.inspect()).toEqual({ kind: 'missing' });
    });

    it('is refused while nobody has led the group', async () => {
      const { fixture, primary, target } = await setUp();
      const position = () => ({ position: positionNone, configuration: null });
      const source = fixture.source({ ...chosenBy(primary), position });
      await expect(copy(source, target)).rejects.toMatchObject({ code: 'sourceUnavailable' });
      expect(await target.directory.inspect()).toEqual({ kind: 'missing' });
    });

    it('that is given up ends with the reason, and is none; another takes its place', async () => {
      const { fixture, primary, target } = await setUp();
      const control = new AbortController();
      const told = { waits: false, isGone: false };
      const source = fixture.source({
        ...chosenBy(primary),
        awaitChosen: (_lsn, signal) =>
          new Promise((resolve) => {
            told.waits = true;
            signal.addEventListener('abort', () => {
              told.isGone = true;
              resolve(false);
            });
          }),
      });
      const copying = copy(source, target, { signal: control.signal }).catch((error: unknown) => error);
      await until(fixture.timers, () => told.waits);
      control.abort(new Error('enough'));
      expect(await copying).toMatchObject({ message: 'enough' });
      await until(fixture.timers, () => told.isGone);
      expect(await roleIn(target)).toBe('copying');
      const { position } = await copy(fixture.source(chosenBy(primary)), target);
      expect(await target.directory.inspect()).toMatchObject({
        state: { role: { kind: 'standby' }, position },
      });
    });
  });
}

async function put(primary: TestPrimary, value: string): Promise<void> {
  const session = await primary.connect();
  await session.put(value);
  await session.commit();
  session.close();
}

async function copy(
  source: CopySource,
  target: CopyFixture,
  changes: Partial<ReceiveOptions> = {},
): Promise<CopiedDatabase> {
  const [near, far] = await target.channel();
  const served = source.serve(far);
  try {
    return await target.receive({ channel: near, from, isOfUse: () => true, signal: never, ...changes });
  } finally {
    await served;
  }
}

/** Of a directory that may hold anything. */
async function roleIn({ directory }: CopyFixture): Promise<string> {
  const found = await directory.inspect();
  return found.kind === 'usable' ? found.state.role.kind : found.kind;
}

async function valuesOf(fixture: DatabaseFixture): Promise<readonly string[]> {
  const session = await fixture.connect();
  try {
    return await session.values();
  } finally {
    session.close();
  }
}
