/**
 * Which run the page shows: the live cluster's, a simulated group's, or a file's. One at a time; the address says which simulated one, and follows what is done to it.
 *
 * Invariant: the run that was shown before is ended when another one is chosen.
 */
import { writeActs } from './simulated/acts.ts';
import { type AddressedRun, readAddress, type RunSetup, writeAddress } from './simulated/run-address.ts';
import { fileSource } from './file-source.ts';
import { readRun, type ReadRun, tooLarge } from './run-file.ts';
import { openRun, type RunStore } from './run-store.ts';
import { type SimulatedSource, simulatedSource, type SimulatorPort } from './simulated-source.ts';
import type { RunSource } from './source.ts';

export interface RunChoice {
  /** What is shown now. */
  readonly store: () => RunStore;
  /** Null: it is none of the simulator's. */
  readonly simulated: () => SimulatedSource | null;
  /** What is wrong with what was chosen, in words; null: nothing. */
  readonly problem: () => string | null;
  /** Null: the page has no server. */
  readonly chooseLive: (() => void) | null;
  readonly chooseSimulated: (setup: RunSetup) => void;
  /** `text`: what is in the file; null: more than a run may have, and it was not read. */
  readonly chooseFile: (name: string, text: string | null) => void;
  /** What is wrong has been read. */
  readonly dismiss: () => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export interface ChoiceOptions {
  /** Null: the page has no server. */
  readonly live: (() => RunSource) | null;
  readonly startSimulator: () => SimulatorPort;
  /** What is simulated when nobody has said what. */
  readonly first: RunSetup;
  /** The page's address. */
  readonly address: {
    read(): string;
    write(hash: string): void;
    onChange(listener: () => void): void;
  };
}

export function openChoice({ live, startSimulator, first, address }: ChoiceOptions): RunChoice {
  const listeners = new Set<() => void>();
  let simulated: SimulatedSource | null = null;
  let problem: string | null = null;
  let written = '';
  let store: RunStore | null = null;

  const tell = (): void => listeners.forEach((listener) => listener());
  const show = (source: RunSource): void => {
    store?.close();
    store = openRun(source);
    tell();
  };
  const write = (hash: string): void => {
    if (hash === written) return;
    written = hash;
    address.write(hash);
  };
  const simulate = (setup: RunSetup, atMs: number | null): void => {
    const source = simulatedSource(startSimulator(), setup, atMs);
    // As they are written: what a Worker says of them is a copy.
    const actsAtFirst = writeActs(setup.acts);
    simulated = source;
    write(writeAddress(setup, atMs));
    source.onChange(() => {
      if (simulated !== source) return;
      // Where it was asked to stand stays said while nothing else is done.
      const now = source.setup();
      if (writeActs(now.acts) !== actsAtFirst) write(writeAddress(now));
      tell();
    });
    show(source);
  };
  const chooseLive =
    live === null
      ? null
      : (): void => {
          simulated = null;
          problem = null;
          write('');
          show(live());
        };
  const follow = (): void => {
    const named: AddressedRun | null = readAddress(address.read());
    // The address says other things as well.
    if (store !== null && (named === null || writeAddress(named, named.atMs) === written)) return;
    problem = named?.problem ?? null;
    if (named !== null) simulate(named, named.atMs);
    else if (chooseLive !== null) chooseLive();
    else simulate(first, null);
  };
  address.onChange(follow);
  follow();
  return {
    store: () => store!,
    simulated: () => simulated,
    problem: () => problem,
    chooseLive,
    chooseSimulated(setup) {
      problem = null;
      simulate(setup, null);
    },
    chooseFile(name, text) {
      const read: ReadRun = text === null ? { ok: false, message: tooLarge } : readRun(text);
      problem = read.ok ? null : `${name}: ${read.message}`;
      if (!read.ok) {
        tell();
        return;
      }
      simulated = null;
      write('');
      show(fileSource(name, read.run));
    },
    dismiss() {
      problem = null;
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
