import { describe, expect, it } from 'vitest';
import { isOfStatement, writeOutcomeOf } from './write-outcome.ts';

describe('what an error tells of a write', () => {
  it('is what the server promises by its SQLSTATE', () => {
    expect(['40001', '57P01', '23505', '53300'].map(writeOutcomeOf)).toEqual(Array(4).fill('refused'));
    expect(['08007', '08006', 'XX000'].map(writeOutcomeOf)).toEqual(Array(3).fill('unknown'));
  });

  it('is that it is done, where only its answer is lost', () => {
    expect(writeOutcomeOf('RQ001')).toBe('acknowledged');
  });

  it('is nothing, where no server has said it', () => {
    expect(['', 'EPIPE', 'ECONNRESET', 'timeout'].map(writeOutcomeOf)).toEqual(Array(4).fill('unknown'));
  });

  it('ends the session, if it is of the connection or of the server', () => {
    expect(['57P01', '53300', '08007', 'EPIPE', ''].map(isOfStatement)).toEqual(Array(5).fill(false));
    expect(['40001', 'RQ001', '23505'].map(isOfStatement)).toEqual(Array(3).fill(true));
  });
});
