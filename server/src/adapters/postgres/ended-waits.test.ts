import { describe, expect, it } from 'vitest';
import { EndedWaits } from './ended-waits.ts';

const prefix = '2026-11-22 06:57:45.085 UTC [8023] 01000 barista@barista ';
const canceled = `${prefix}WARNING:  canceling wait for synchronous replication due to user request\n`;
const terminated = `${prefix}WARNING:  canceling the wait for synchronous replication and terminating connection\n`;
const shutdown = '2026-11-22 06:57:45.085 UTC [1] 00000 LOG:  received fast shutdown request\n';

function countOf(...texts: string[]): number {
  const waits = new EndedWaits();
  for (const text of texts) waits.add(text);
  return waits.count;
}

describe('ended waits', () => {
  it('are counted one by one, whichever way PostgreSQL says it', () => {
    expect(countOf(canceled)).toBe(1);
    expect(countOf(terminated)).toBe(1);
    expect(countOf(shutdown)).toBe(1);
    expect(countOf(canceled + terminated + canceled)).toBe(3);
  });

  it('are found wherever the text is cut', () => {
    for (let at = 0; at <= canceled.length; at++) {
      expect(countOf(canceled.slice(0, at), canceled.slice(at))).toBe(1);
    }
    expect(countOf(...Array.from(canceled))).toBe(1);
  });

  it('are found behind, before and within a long line of another process', () => {
    const long = 'x'.repeat(10_000);
    expect(countOf(long, canceled)).toBe(1);
    expect(countOf(long, canceled.slice(0, 90), canceled.slice(90), `${long}\n`)).toBe(1);
    expect(countOf(`${long}\n${canceled}${long}`)).toBe(1);
  });

  it('are found among a flood of short lines', () => {
    const flood = '\n'.repeat(65_536);
    const waits = new EndedWaits();
    waits.add(canceled.slice(0, 90));
    waits.add(`${canceled.slice(90)}${flood}${canceled}${flood}`);
    expect(waits.count).toBe(2);
  });

  it('are counted once if other text follows on their line', () => {
    expect(countOf(canceled.slice(0, -1), 'x', '\n', 'y\n')).toBe(1);
    expect(countOf(`${canceled.slice(0, -1)} ${canceled}`)).toBe(1);
  });

  it('are not what ordinary messages say', () => {
    expect(countOf(`${prefix}ERROR:  canceling statement due to user request\n`)).toBe(0);
    expect(countOf('LOG:  standby "barista" is now a synchronous standby with priority 1\n')).toBe(0);
  });
});
