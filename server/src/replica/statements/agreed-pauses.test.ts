import { describe, expect, it } from 'vitest';
import type { Operation } from '../../payload/statements/operation.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { AgreedPauses, holdMsMax, idleMsMax, notAgainMs } from './agreed-pauses.ts';

const name = 'cd'.repeat(16);
const resume: Operation = { kind: 'resume', name };

function setUp() {
  const submitted: Operation[] = [];
  const timers = new SimulatedTime();
  const at = { isOfUse: true, open: 40, isPressed: false, isAwaited: true };
  const pauses = new AgreedPauses({
    timers,
    randomName: () => 'ab'.repeat(16),
    submit: (operation) => submitted.push(operation),
    isOfUse: () => at.isOfUse,
    open: () => at.open,
    isPressed: () => at.isPressed,
    isAwaited: () => at.isAwaited,
    bound: () => ['ef'.repeat(16)],
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

  it('end by agreement where no transaction ends, and none is asked for soon', async () => {
    const { pauses, submitted, timers } = setUp();
    pauses.begun(name);
    await timers.pass(idleMsMax - 50);
    expect(submitted).toEqual([]);
    await timers.pass(200);
    expect(submitted).toEqual([resume]);
    // It may have been lost.
    await timers.pass(1_000);
    expect(submitted).toEqual([resume, resume]);
    pauses.ended();
    submitted.length = 1;
    pauses.ask();
    expect(submitted).toHaveLength(1);
    await timers.pass(notAgainMs);
    pauses.ask();
    expect(submitted).toHaveLength(2);
  });

  it('wait as long as transactions end, up to a bound', async () => {
    const { pauses, submitted, timers, at } = setUp();
    pauses.begun(name);
    for (let ms = 0; ms < holdMsMax - 500; ms += 500) {
      at.open -= 1;
      await timers.pass(500);
    }
    expect(submitted).toEqual([]);
    at.open -= 1;
    await timers.pass(700);
    expect(submitted).toEqual([resume]);
  });

  it('end what keeps the moment from coming, once, where it must come', async () => {
    const { pauses, submitted, timers, at } = setUp();
    at.isPressed = true;
    pauses.begun(name);
    await timers.pass(idleMsMax - 200);
    expect(submitted).toEqual([]);
    await timers.pass(400);
    const ends: Operation[] = [
      { kind: 'cancelOpen', session: null, pause: name },
      { kind: 'close', session: 'ef'.repeat(16) },
    ];
    expect(submitted).toEqual(ends);
    await timers.pass(idleMsMax);
    expect(submitted).toEqual([...ends, resume]);
  });

  it('end nothing where nobody here waits for the moment', async () => {
    const { pauses, submitted, timers, at } = setUp();
    at.isPressed = true;
    at.isAwaited = false;
    pauses.begun(name);
    await timers.pass(idleMsMax + 200);
    expect(submitted).toEqual([resume]);
  });

  it('are left alone where the moment has come', async () => {
    const { pauses, submitted, timers } = setUp();
    pauses.begun(name);
    pauses.ended();
    await timers.pass(2 * holdMsMax);
    expect(submitted).toEqual([]);
  });
});
