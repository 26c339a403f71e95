import { expect, it } from 'vitest';
import { ProcessTime, SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { openChannel } from './channel.ts';

it('whoever is writing when a channel ends is told so, though nothing was taken', async () => {
  const time = new SimulatedTime();
  const [near, far] = openChannel(new ProcessTime(time), new ProcessTime(time), () => 1);
  let outcome: Error | null | undefined;
  near.write('what nobody will hear', (error) => (outcome = error ?? null));
  far.destroy();
  near.destroy(new Error('the connection was lost'));
  await time.pass(10);
  expect(outcome).toBeInstanceOf(Error);
});
