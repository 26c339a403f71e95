import { describe, expect, it } from 'vitest';
import { commonVersion, isKnownTo, ownVersions, rangeIn, rangeMark, versionsApart } from './versions.ts';

const range = (oldest: number, newest: number) => ({ oldest, newest });

describe('versions of the peers protocol', () => {
  it.each([
    [range(6, 6), range(6, 6), 6],
    [range(5, 7), range(6, 9), 7],
    [range(6, 9), range(5, 7), 7],
    [range(5, 5), range(5, 9), 5],
    [range(5, 5), range(6, 9), null],
    [range(8, 9), range(6, 7), null],
  ])('%o and %o speak %s', (one, other, version) => {
    expect(commonVersion(one, other)).toBe(version);
  });

  it('of which none is common are both named, with the one to upgrade first, in what a close of a connection can say', () => {
    expect(versionsApart(range(6, 7), range(5, 5))).toBe(
      "speaks version 5 of the peers' protocol, this replica versions 6 to 7: upgrade it first",
    );
    expect(versionsApart(range(5, 5), range(6, 7))).toBe(
      "speaks versions 6 to 7 of the peers' protocol, this replica version 5: upgrade this one first",
    );
    expect(versionsApart(range(100, 102), range(200, 202)).length).toBeLessThanOrEqual(120);
  });

  it('are told in a nonce, and read from one that tells none as the single one that is named beside it', () => {
    expect(rangeIn(`${rangeMark(range(5, 12))}00ff`, 5)).toEqual(range(5, 12));
    expect(rangeIn('00ff', 6)).toEqual(range(6, 6));
    // What hexadecimal numbers of before look like can be taken for no range.
    expect(rangeIn('6-7', 6)).toEqual(range(6, 6));
  });

  it.each(['7-6:00', '0-6:00', '0-0:00'])('that are no range are refused: %s', (nonce) => {
    expect(rangeIn(nonce, 6)).toBeNull();
  });

  it('have to be numbers of versions', () => {
    for (const version of [0, -1, 1.5, Number.NaN, 1e12]) expect(rangeIn('00ff', version)).toBeNull();
  });

  it('know the messages that came with them and before', () => {
    expect([5, 6, 7].map((version) => isKnownTo(version, 'Resigned'))).toEqual([false, true, true]);
    expect(isKnownTo(5, 'Accept')).toBe(true);
    expect(ownVersions.oldest).toBeLessThanOrEqual(ownVersions.newest);
  });
});
