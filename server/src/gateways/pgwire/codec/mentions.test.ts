import { describe, expect, it } from 'vitest';
import { mentionIn, mentionInStartup, PieceSearch } from './mentions.ts';
import type { StartupMessage } from './startup.ts';

function startup(...parameters: (readonly [string, string])[]): StartupMessage {
  return { kind: 'startup', version: 3 << 16, parameters, tunnelNonce: null };
}

describe('a mention', () => {
  it.each([
    ['SET synchronous_commit = off', { commit: true, lasting: false, request: false, elsewhere: false }],
    [
      "select set_config('SYNCHRONOUS_commit', 'off', true)",
      { commit: true, lasting: false, request: false, elsewhere: false },
    ],
    [
      'ALTER ROLE me SET synchronous_commit = off',
      { commit: true, lasting: true, request: false, elsewhere: false },
    ],
    [
      'create or replace view v as select synchronous_commit',
      { commit: true, lasting: true, request: false, elsewhere: false },
    ],
    [
      "CREATE  SUBSCRIPTION s CONNECTION '' PUBLICATION p",
      { commit: true, lasting: true, request: false, elsewhere: false },
    ],
    ['SET created = synchronous_commit', { commit: true, lasting: false, request: false, elsewhere: false }],
    ["SET barista.request_id = 'x'", { commit: false, lasting: false, request: true, elsewhere: false }],
    ['SET "barista" . "request_id" = 1', { commit: false, lasting: false, request: true, elsewhere: false }],
    ["SET barista/**/.request_id = 'x'", { commit: false, lasting: false, request: true, elsewhere: false }],
    [
      'SET barista . -- id\n "request_id" = \'x\'',
      { commit: false, lasting: false, request: true, elsewhere: false },
    ],
    [
      "SET barista./* a /* b */ c */request_id = 'x'",
      { commit: false, lasting: false, request: true, elsewhere: false },
    ],
    [
      "CREATE /* a */ SUBSCRIPTION s CONNECTION '' PUBLICATION p",
      { commit: true, lasting: true, request: false, elsewhere: false },
    ],
    [
      "SELECT pg_barista.request_committed('x')",
      { commit: false, lasting: false, request: true, elsewhere: false },
    ],
    [
      'barista.request_id synchronous_commit',
      { commit: true, lasting: false, request: true, elsewhere: false },
    ],
  ])('is found: %s', (text, mention) => {
    expect(mentionIn(text)).toEqual(mention);
  });

  it.each([
    'set barista.effects_elsewhere = on',
    "SELECT dblink('', 'SELECT 1')",
    'CREATE /* a */ EXTENSION citus',
    'create server other foreign data wrapper postgres_fdw',
    'IMPORT FOREIGN SCHEMA s FROM SERVER other INTO public',
  ])('of what acts elsewhere is found: %s', (text) => {
    const expected = { commit: false, lasting: false, request: false, elsewhere: true };
    expect(mentionIn(text)).toEqual(expected);
  });

  it.each([
    '',
    'SELECT 1',
    'synchronous-commit',
    'baristarequest_id',
    'ALTER TABLE t ADD a int',
    'SELECT * FROM subscription',
    'barista.x',
    'ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES s',
    'CREATE TABLE extension (server int)',
    'barista /* .request_id',
    'create /* subscription',
    "CREATE TABLE barista; -- request_id\nSELECT '.request_id'",
  ])('is not there: %s', (text) => {
    expect(mentionIn(text)).toBeNull();
  });

  it('is found in a message wherever it is cut', () => {
    const text = `ALTER ROLE me ${'x'.repeat(200)} SET synchronous_commit = off ${'y'.repeat(200)} barista.request_id`;
    for (let cut = 0; cut <= text.length; cut += 1) {
      const search = new PieceSearch();
      const before = search.look(text.slice(0, cut));
      const after = search.look(text.slice(cut));
      expect(after).toEqual({ commit: true, lasting: true, request: true, elsewhere: false });
      expect(before?.commit ?? false).toBe(text.slice(0, cut).includes('synchronous_commit'));
      expect(before?.lasting).toBe(before?.commit);
    }
    const search = new PieceSearch();
    const found = text.split('').map((letter) => search.look(letter));
    expect(found[text.indexOf('synchronous_commit') + 17]).toMatchObject({ commit: true });
    expect(found[text.indexOf('synchronous_commit') + 16]).toBeNull();
  });

  it('counts as found where more stands between its words than is looked at', () => {
    const text = 'barista/**/'.repeat(100_000);
    expect(mentionIn(text)).toMatchObject({ request: true });
  });

  it('lasts if what makes it last comes later', () => {
    const search = new PieceSearch();
    expect(search.look('SET synchronous_commit = off; ')).toMatchObject({ lasting: false });
    expect(search.look('CREATE FUNCTION')).toMatchObject({ lasting: true });
  });

  it.each([
    ['options', '-c synchronous_commit=off', true],
    ['options', '--synchronous-commit=off', true],
    ['options', '-c sync\\hronous_commit=off', true],
    ['synchronous_commit', 'off', true],
    ['options', '-c work_mem=1MB', false],
  ])('in a startup packet: %s=%s', (name, value, found) => {
    expect(mentionInStartup(startup(['user', 'u'], [name, value]))?.commit ?? false).toBe(found);
  });

  it('of a name for a transaction is found in a startup packet', () => {
    expect(mentionInStartup(startup(['options', '-c barista.request-id=x']))).toMatchObject({
      request: true,
    });
    expect(mentionInStartup(startup(['application_name', 'x']))).toBeNull();
    expect(mentionInStartup(startup(['options', '-c barista.effects-elsewhere=on']))?.elsewhere).toBe(true);
    expect(mentionInStartup(startup(['application_name', 'postgres_fdw']))?.elsewhere).toBe(false);
  });
});
