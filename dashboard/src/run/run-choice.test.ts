import { describe, expect, it } from 'vitest';
import type { FromSimulator, ToSimulator } from './simulated/protocol.ts';
import { firstRun } from './simulated/run-address.ts';
import { openChoice, type RunChoice } from './run-choice.ts';
import type { SimulatorPort } from './simulated-source.ts';

interface Wired {
  readonly choice: RunChoice;
  readonly posted: ToSimulator[];
  readonly said: () => number;
  hash: string;
  say(message: FromSimulator): void;
  go(hash: string): void;
}

function wire(hash: string): Wired {
  const posted: ToSimulator[] = [];
  let listener: (message: FromSimulator) => void = () => undefined;
  let changed = (): void => undefined;
  let ended = 0;
  const port: SimulatorPort = {
    post: (message) => posted.push(message),
    listen: (next) => {
      listener = next;
    },
    end: () => {
      ended += 1;
    },
  };
  const address = {
    read: () => wired.hash,
    write: (next: string) => {
      wired.hash = next;
    },
    onChange: (next: () => void) => {
      changed = next;
    },
  };
  const wired = {
    posted,
    said: () => ended,
    hash,
    // As a Worker's messages: what comes is a copy of what was sent.
    say: (message: FromSimulator) => listener(structuredClone(message)),
    go(next: string) {
      wired.hash = next;
      changed();
    },
  } as Wired;
  const choice = openChoice({ live: null, startSimulator: () => port, first: firstRun, address });
  return Object.assign(wired, { choice });
}

describe('the run that the page shows', () => {
  it('is what the address names, and the address follows what is done to it', () => {
    const wired = wire('#sim?seed=7&replicas=5&at=3000');
    const setup = { seed: 7, replicas: 5, clients: 4, acts: [] };
    expect(wired.posted[0]).toMatchObject({ kind: 'begin', setup, atMs: 3000 });
    wired.say({ kind: 'begun', setup });
    expect(wired.hash).toBe('#sim?seed=7&replicas=5&clients=4&at=3000');
    wired.say({ kind: 'acts', acts: [[3_500, { action: 'heal' }]] });
    expect(wired.hash).toBe('#sim?seed=7&replicas=5&clients=4&acts=2p8-h');
    expect(wired.said()).toBe(0);
    wired.go('#sim?seed=8');
    expect(wired.said()).toBe(1);
    expect(wired.choice.simulated()?.title).toBe('seed 8');
  });

  it('is the first one where nobody has said which, and stays when a file is none', () => {
    const wired = wire('');
    expect(wired.hash).toBe('#sim?seed=1&replicas=3&clients=4');
    wired.choice.chooseFile('a.txt', 'nothing');
    expect(wired.choice.problem()).toBe('a.txt: This is no file of a run: its first line does not say so.');
    wired.choice.chooseFile('b.txt', null);
    expect(wired.choice.problem()).toBe('b.txt: The file is larger than a run may be.');
    expect(wired.choice.store().source.kind).toBe('simulated');
  });

  it('answers what was asked of a run that is left', async () => {
    const wired = wire('');
    const outcome = wired.choice.store().source.requests!.fault({ action: 'heal' });
    wired.choice.chooseSimulated({ ...firstRun, seed: 2 });
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'gone' } });
  });
});
