/** The short version of `npm run primary-kills`: a group for each level of acknowledgement, whose primary is killed twice under load. Real processes, real signals, a real driver. */
import { describe, expect, it } from 'vitest';
import { levels } from '../../server/src/primary/types/effects.ts';
import { killAtLevel } from './kill-primary.ts';
import { findingsOf, totalsOf } from './report.ts';

describe('a primary that is killed under load', () => {
  it.each(levels)('leaves what %s promises', async (level) => {
    const lines: string[] = [];
    const result = await killAtLevel({
      level,
      kills: 2,
      replicas: 3,
      clients: 3,
      pauseMs: 25,
      delayMs: 5,
      killsOfGroup: 2,
      say: (line) => lines.push(line),
    });
    expect({ lines, findings: findingsOf(result) }).toEqual({ lines, findings: [] });
    expect(totalsOf(result)).toMatchObject({ level, kills: 2 });
    expect(totalsOf(result).acknowledged).toBeGreaterThan(20);
  });
});
