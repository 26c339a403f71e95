/** A simulator in the process of a test, and what it has said. It ends with the test. */
import { onTestFinished } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { Ask, FromSimulator } from '../src/run/simulated/protocol.ts';
import type { RunSetup } from '../src/run/simulated/run-address.ts';
import { Simulator } from './simulator.ts';

export interface TestedRun {
  readonly simulator: Simulator;
  readonly said: FromSimulator[];
  /** Until its world stands. */
  stands(): Promise<void>;
  ask(ask: Ask): Promise<object>;
  /** Of the run that counts. */
  events(): readonly TraceEvent[];
}

export function beginRun(setup: RunSetup, atMs: number | null): TestedRun {
  const said: FromSimulator[] = [];
  let listeners: ((message: FromSimulator) => void)[] = [];
  let asked = 0;
  const simulator = new Simulator((message) => {
    said.push(message);
    // As through a port: nobody answers from within.
    setImmediate(() => {
      if (message.kind === 'frames') simulator.hear({ kind: 'taken' });
      for (const listener of listeners) listener(message);
    });
  });
  onTestFinished(() => simulator.end());
  const until = (holds: (message: FromSimulator) => boolean): Promise<FromSimulator> =>
    new Promise((resolve, reject) => {
      const listener = (message: FromSimulator): void => {
        if (message.kind !== 'trouble' && !holds(message)) return;
        listeners = listeners.filter((other) => other !== listener);
        if (message.kind === 'trouble') reject(new Error(message.text));
        else resolve(message);
      };
      listeners.push(listener);
    });
  simulator.hear({ kind: 'begin', setup, atMs });
  return {
    simulator,
    said,
    stands: async () => void (await until((one) => one.kind === 'pace' && one.pace.mode === 'standing')),
    async ask(ask) {
      asked += 1;
      const id = asked;
      const answered = until((message) => message.kind === 'answer' && message.id === id);
      simulator.hear({ kind: 'ask', id, ask });
      const message = await answered;
      return message.kind === 'answer' ? message.answer : {};
    },
    events() {
      const from = said.findLastIndex(({ kind }) => kind === 'begun');
      return eventsIn(said.slice(from));
    },
  };
}

function eventsIn(messages: readonly FromSimulator[]): readonly TraceEvent[] {
  return messages.flatMap((message) =>
    message.kind === 'frames'
      ? message.frames.flatMap((frame) => (frame.type === 'events' ? frame.events : []))
      : [],
  );
}
