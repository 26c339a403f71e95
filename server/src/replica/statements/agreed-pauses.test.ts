import { describe, expect, it } from 'vitest';
import type { Operation } from '../../payload/statements/operation.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AgreedPauses, holdMsMax } from './agreed-pauses.ts';

function setUp() {
  const submitted: Operation[] = [];
  const timers = new SimulatedTime();
  const at = { isOfUse: true };
  const pauses = new AgreedPauses({
    timers,
    randomName: () => 'ab'.repeat(16),
    submit: (operation) => submitted.push(operation),
    isOfUse: () => at.isOfUse,
  });
  return { pauses, submitted, timers, at };
}

describe('pauses that are agreed on', () => {
  it('are asked for where they are of use', () => {
    const { pauses, submitted, at } = setUp();
    pauses.ask();
    expect(submitted).toEqual([{ kind: 'pause', name: 'ab'.repeat(16) }]);
    at.isOfUse = false;
    pauses.ask();
    expect(submitted).toHaveLength(1);
  });

  it('end by agreement, if the moment does not come', async () => {
    const { pauses, submitted, timers } = setUp();
    pauses.begun('cd'.repeat(16));
    await timers.pass(holdMsMax - 1);
    expect(submitted).toEqual([]);
    await timers.pass(1);
    expect(submitted).toEqual([{ kind: 'resume', name: 'cd'.repeat(16) }]);
  });

  it('are left alone where it has come', async () => {
    const { pauses, submitted, timers } = setUp();
    pauses.begun('cd'.repeat(16));
    pauses.ended();
    await timers.pass(2 * holdMsMax);
    expect(submitted).toEqual([]);
  });
});
