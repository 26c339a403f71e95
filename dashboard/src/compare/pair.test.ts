/** A world that goes on no more is told of, whichever it is, and the other one does not go on alone. */
import { describe, expect, it } from 'vitest';
import type { SimulatorPort } from '../run/simulated-source.ts';
import type { FromSimulator, ToSimulator } from '../run/simulated/protocol.ts';
import { firstRun } from '../run/simulated/run-address.ts';
import { openPair } from './pair.ts';

function wire() {
  const posted: ToSimulator[] = [];
  const listeners: ((message: FromSimulator) => void)[] = [];
  const port: SimulatorPort = {
    post: (message) => void posted.push(message),
    listen: (next) => void listeners.push(next),
    end: () => undefined,
  };
  return { port, posted, say: (message: FromSimulator) => listeners.forEach((one) => one(message)) };
}

function openWired() {
  const [naive, ours] = [wire(), wire()];
  const pair = openPair({ naive: naive.port, ours: ours.port, setup: firstRun, fromMs: 8_000, goesOn: true });
  const told: (string | null)[] = [];
  pair.onChange(() => told.push(pair.trouble()));
  for (const side of [naive, ours]) {
    side.say({ kind: 'begun', setup: firstRun });
    side.say({ kind: 'pace', pace: { mode: 'standing' }, atMs: 8_000 });
  }
  return { naive, ours, pair, told };
}

describe('one of two worlds', () => {
  it('that dies is told of, though it is the one without the rule, and both stand', async () => {
    const { naive, ours, pair, told } = openWired();
    const world = pair.both.source.world!;
    expect(world.pace().mode).toBe('running');
    naive.say({ kind: 'failed', text: 'The simulator has failed: out of memory' });
    expect(told.at(-1)).toMatch(/without the rule.*both stand.*Begin again.*out of memory/);
    expect(world.pace().mode).toBe('standing');
    const before = ours.posted.length;
    world.run(1);
    await world.step();
    expect(world.pace().mode).toBe('standing');
    expect(ours.posted.length).toBe(before);
    expect(await pair.both.source.requests!.fault({ action: 'heal' })).toMatchObject({
      ok: false,
      error: { code: 'failed' },
    });
    pair.close();
  });

  it('that goes on holds what must not be for what it is shown for, and the other one does not', () => {
    const { naive, ours, pair } = openWired();
    naive.say({ kind: 'trouble', text: 'two values are chosen in slot 9' });
    expect(pair.trouble()).toBeNull();
    expect(pair.both.source.world!.pace().mode).toBe('running');
    ours.say({ kind: 'trouble', text: 'slot 3' });
    expect(pair.trouble()).toBe('slot 3');
    pair.close();
  });
});
