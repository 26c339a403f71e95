import { expect, it } from 'vitest';
import type { FunctionsWatch, KnownFunctions } from './function-looks.ts';
import { JudgedTexts } from './judged-texts.ts';
import { TellingFunctions } from './telling-functions.ts';

function telling(names: readonly string[], settings: readonly string[] = []): TellingFunctions {
  const hides = new Map(names.map((name) => [name, name.startsWith('hides')]));
  return new TellingFunctions(hides, { tells: false, hides: false }, settings);
}

class World implements FunctionsWatch {
  known: KnownFunctions | null = null;
  begun = 0;
  uses = 0;
  hurries = 0;
  readonly judged = new JudgedTexts(this);
  use(): void {
    this.uses += 1;
  }
  hurry(): void {
    this.hurries += 1;
  }
  renew(): Promise<void> {
    return Promise.resolve();
  }
  stop(): void {}
  /** A look that begins and ends here. */
  look(mark: string, found: TellingFunctions = this.known?.telling ?? telling([])): void {
    this.begun += 1;
    this.known = { mark, telling: found, look: this.begun };
  }
  send(text: string): boolean {
    this.judged.sent();
    const { tells } = this.judged.namedIn(text);
    return tells;
  }
  /** Without a question. */
  run(text: string): boolean {
    const tells = this.send(text);
    this.judged.answered();
    return tells;
  }
  ask(text: string): void {
    this.send(text);
    this.judged.asked();
    this.judged.answered();
  }
}

it('every text tells until something is known', () => {
  const world = new World();
  expect(world.run('SELECT 1')).toBe(true);
  world.look('one', telling(['locks']));
  expect([world.run('SELECT 1'), world.run('SELECT locks()')]).toEqual([false, true]);
});

it('every text tells behind one of its own that may change functions, until a later look', () => {
  const world = new World();
  world.look('one');
  expect(world.run('CREATE FUNCTION f()')).toBe(true);
  expect(world.run('SELECT 1')).toBe(true);
  world.look('two');
  expect(world.run('SELECT 1')).toBe(false);
});

it('a look that had begun before the answer is not a later one', () => {
  const world = new World();
  world.look('one');
  world.send('CREATE FUNCTION f()');
  world.begun += 1;
  world.judged.answered();
  world.known = { ...world.known!, mark: 'two', look: world.begun };
  expect(world.run('SELECT 1')).toBe(true);
});

it('the next leader has to have the functions by which a text was judged, until a later look has found the same', () => {
  const world = new World();
  world.look('one');
  expect(world.judged.needs).toBe('any');
  world.send('SELECT 1');
  // It is not answered: whatever it does is done again, or fails.
  expect(world.judged.needs).toBe('any');
  world.judged.answered();
  expect(world.judged.needs).toEqual({ mark: 'one' });
  world.judged.settle();
  expect(world.judged.needs).toEqual({ mark: 'one' });
  world.look('one');
  world.judged.settle();
  expect([world.judged.needs, world.judged.isDoubtful]).toEqual(['any', false]);
});

it('PostgreSQL is asked if a later look has found others', () => {
  const world = new World();
  world.look('one');
  world.run('SELECT f()');
  world.look('two', telling(['f']));
  world.judged.settle();
  expect(world.judged.isDoubtful).toBe(true);
  world.judged.asked();
  expect([world.judged.needs, world.judged.isDoubtful]).toEqual(['any', false]);
});

it('so it is if the session goes on under others, and whatever the next leader has, something may be lost', () => {
  const world = new World();
  world.look('one');
  world.run('SELECT f()');
  world.look('two', telling(['f']));
  world.send('SELECT 1');
  expect([world.judged.needs, world.judged.isDoubtful]).toEqual(['none', true]);
});

it('others that tell no more are as good, at a later look and at the next leader', () => {
  const world = new World();
  world.look('one', telling(['f', 'g']));
  world.run('SELECT 1');
  world.look('two', telling(['f']));
  world.judged.settle();
  expect([world.judged.needs, world.judged.isDoubtful]).toEqual(['any', false]);
  world.run('SELECT 1');
  world.judged.judgeAnew();
  expect(world.judged.needs).toEqual({ mark: 'two' });
  world.look('three', telling(['f']));
  world.judged.judgeAnew();
  expect(world.judged.needs).toEqual({ mark: 'three' });
  for (const more of [telling(['f', 'h']), telling(['f'], ['app.x']), telling(['hides'])]) {
    world.look('four', more);
    world.judged.judgeAnew();
    expect(world.judged.needs).toEqual({ mark: 'three' });
  }
});

it('a table, a view or a trigger changes functions only if it names one that tells', () => {
  const world = new World();
  world.look('one', telling(['locks']));
  for (const text of ['CREATE TABLE t (a serial)', 'CREATE VIEW v AS SELECT plain()', 'DROP TABLE t'])
    expect([text, world.run(text), world.run('SELECT 1'), world.hurries]).toEqual([text, false, false, 0]);
  for (const text of [
    'CREATE TABLE t (a boolean DEFAULT locks(1))',
    'CREATE OR REPLACE VIEW v AS SELECT pg_advisory_lock(1)',
    'ALTER TABLE t ALTER a SET DEFAULT "locks"(1)',
  ]) {
    const { hurries } = world;
    world.run(text);
    expect([text, world.run('SELECT 1'), world.hurries]).toEqual([text, true, hurries + 1]);
    world.look('two');
  }
});

it('what PostgreSQL was asked about depends on others but for names of settings', () => {
  const world = new World();
  world.look('one');
  world.ask('SELECT f()');
  expect(world.judged.needs).toEqual({ mark: 'one' });
  world.look('two', telling(['f']));
  world.judged.settle();
  expect([world.judged.isDoubtful, world.judged.hides]).toEqual([false, false]);
  world.ask('SELECT f()');
  world.look('three', telling(['f'], ['app.x']));
  world.judged.settle();
  expect([world.judged.isDoubtful, world.judged.hides]).toEqual([true, false]);
  world.ask('SELECT f()');
  world.look('four', telling(['hides']));
  world.judged.settle();
  expect(world.judged.hides).toBe(true);
});

it('what was sent before anything was known is judged as soon as something is', () => {
  for (const [text, settings, found] of [
    ['SELECT sets()', ['app.x'], [true, false]],
    ['SELECT sets()', [], [false, false]],
    ['SELECT 1', ['app.x'], [false, false]],
    ['SELECT hides()', [], [false, true]],
    [`SELECT '${'x'.repeat(20_000)}'`, [], [false, true]],
  ] as const) {
    const world = new World();
    world.ask(text);
    world.look('one', telling(['sets', 'hides'], settings));
    world.judged.settle();
    expect([text.slice(0, 20), world.judged.isDoubtful, world.judged.hides]).toEqual([
      text.slice(0, 20),
      ...found,
    ]);
  }
});

it('nothing is left of it when another session has taken its place', () => {
  const world = new World();
  world.look('one');
  world.run('SELECT 1');
  world.look('two');
  world.send('SELECT 1');
  world.judged.moved(false);
  expect([world.judged.needs, world.judged.isDoubtful]).toEqual(['any', false]);
});
