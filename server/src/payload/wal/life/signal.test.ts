import { expect, it } from 'vitest';
import { SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { Signal } from './signal.ts';

function setUp() {
  const time = new SimulatedTime();
  const signal = new Signal(time);
  const woken: string[] = [];
  const wait = (): void => void signal.wait(1000).then(() => woken.push('waits'));
  const waitPatiently = (): void => void signal.waitPatiently(1000).then(() => woken.push('patient'));
  return { time, signal, woken, wait, waitPatiently };
}

it('wakes everybody who waits at a notice', async () => {
  const { time, signal, woken, wait, waitPatiently } = setUp();
  wait();
  waitPatiently();
  signal.notify();
  await time.pass(0);
  expect(woken).toEqual(['waits', 'patient']);
  signal.notify();
  await time.pass(2000);
  expect(woken).toHaveLength(2);
});

it('wakes the patient once for all that stirs within some milliseconds', async () => {
  const { time, signal, woken, wait, waitPatiently } = setUp();
  wait();
  waitPatiently();
  for (let slot = 0; slot < 5; slot++) {
    signal.stir();
    await time.pass(1);
  }
  expect(woken).toEqual(['waits']);
  await time.pass(10);
  expect(woken).toEqual(['waits', 'patient']);
  waitPatiently();
  signal.stir();
  await time.pass(11);
  expect(woken).toHaveLength(3);
});

it('does not let a notice wait for what has stirred before, and ends each wait in time', async () => {
  const { time, signal, woken, wait, waitPatiently } = setUp();
  waitPatiently();
  signal.stir();
  signal.notify();
  await time.pass(0);
  expect(woken).toEqual(['patient']);
  wait();
  waitPatiently();
  await time.pass(1001);
  expect(woken.toSorted()).toEqual(['patient', 'patient', 'waits']);
});
