import { describe, expect, it } from 'vitest';
import { createMemoryClientService } from '../testing/memory-client-service.ts';
import { AnswerGate, type Gated } from './answer-gate.ts';

function recorder(log: string[], name: string): Gated {
  return {
    release: () => log.push(`${name} released`),
    hold: () => log.push(`${name} held`),
    refuse: () => log.push(`${name} refused`),
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('the gate of answers', () => {
  it('asks once for all that one turn of the event loop has brought', async () => {
    const service = createMemoryClientService(null);
    const gate = new AnswerGate(service, 1);
    const log: string[] = [];
    gate.add(recorder(log, 'a'));
    gate.add(recorder(log, 'b'));
    expect(log).toEqual([]);
    await turn();
    expect(log).toEqual(['a released', 'b released']);
    expect(service.calls.mayAnswer).toBe(1);
    gate.add(recorder(log, 'c'));
    await turn();
    expect(service.calls.mayAnswer).toBe(2);
    expect(gate.holds).toBe(0);
  });

  it('keeps answers until they may leave, and what comes later until its own turn', async () => {
    const service = createMemoryClientService(null);
    const gate = new AnswerGate(service, 1);
    const log: string[] = [];
    service.holdAnswers();
    gate.add(recorder(log, 'a'));
    await turn();
    gate.add(recorder(log, 'b'));
    await turn();
    expect(log).toEqual(['a held', 'b held']);
    expect([service.calls.awaitAnswer, gate.holds]).toEqual([2, 2]);
    service.letGo();
    await expect.poll(() => log.slice(2)).toEqual(['a released', 'b released']);
  });

  it('refuses what waits when the generation ends', async () => {
    const service = createMemoryClientService(null);
    const gate = new AnswerGate(service, 1);
    const log: string[] = [];
    service.holdAnswers();
    gate.add(recorder(log, 'a'));
    await turn();
    service.setService({ kind: 'here', generation: 2 });
    await expect.poll(() => log).toEqual(['a held', 'a refused']);
  });

  it('of an old generation lets nothing go', async () => {
    const service = createMemoryClientService(null);
    const gate = new AnswerGate(service, 0);
    const log: string[] = [];
    gate.add(recorder(log, 'a'));
    await expect.poll(() => log).toEqual(['a held', 'a refused']);
  });
});
