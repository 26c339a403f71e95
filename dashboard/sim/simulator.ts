/**
 * The simulator behind its messages (protocol.ts): one world at a time, begun, paced, asked and forked.
 *
 * Responsible for: which world counts, and who is answered when. A world that counts no more stands still for ever, and nothing is told of it.
 */
import type { Frame } from '../src/model/frames.ts';
import type { Act, Deed } from '../src/run/simulated/acts.ts';
import {
  type Ask,
  type FromSimulator,
  type Pace,
  type ToSimulator,
  underWayMax,
} from '../src/run/simulated/protocol.ts';
import type { RunSetup } from '../src/run/simulated/run-address.ts';
import { Pacer } from './pacer.ts';
import { World } from './world.ts';

export type Say = (message: FromSimulator) => void;

interface Running {
  readonly setup: RunSetup;
  readonly world: World;
  readonly pacer: Pacer;
}

/** Who waits until the world stands. */
interface Waiting {
  readonly id: number;
}

const asFastAsItGoes = (toMs: number): Pace => ({
  mode: 'running',
  speed: Number.POSITIVE_INFINITY,
  toMs,
});
const asItHappened: Pace = { mode: 'running', speed: 1, toMs: Number.POSITIVE_INFINITY };

export class Simulator {
  private readonly say: Say;
  private running: Running | null = null;
  private underWay = 0;
  private waiting: Waiting[] = [];
  /** Until the clients begin there is little to see. */
  private isPreparing = false;
  private isOver = false;

  constructor(say: Say) {
    this.say = say;
  }

  /** Its world stands still for ever, and it hears nobody any more. A Worker that is ended needs none of this. */
  end(): void {
    this.isOver = true;
    this.running?.pacer.end();
    this.running = null;
    this.dismiss('The run was ended.');
  }

  hear(message: ToSimulator): void {
    if (this.isOver) return;
    switch (message.kind) {
      case 'begin':
        this.begin(message.setup, message.atMs);
        return;
      case 'pace':
        this.isPreparing = false;
        this.running?.pacer.set(message.pace);
        return;
      case 'ask':
        this.ask(message.id, message.ask);
        return;
      case 'taken':
        this.underWay = Math.max(0, this.underWay - 1);
        this.running?.pacer.wake();
        return;
      default:
        message satisfies never;
    }
  }

  private begin(setup: RunSetup, atMs: number | null): void {
    this.running?.pacer.end();
    this.dismiss('The run was begun anew.');
    this.underWay = 0;
    this.isPreparing = atMs === null;
    const counts = (): boolean => this.running?.world === world;
    const world = new World(setup, {
      onFrames: (frames, at) => {
        if (counts()) this.tell(frames, at);
      },
      onTrouble: (text) => {
        if (counts()) this.say({ kind: 'trouble', text });
      },
    });
    const perform = (deed: Deed, onDone: ((answer: object) => void) | null): void =>
      void world.act(deed).then(
        (answer) => onDone?.(answer),
        (error: Error) => onDone?.({ error: { code: 'failed', message: error.message } }),
      );
    const pacer = new Pacer({
      time: world.group.time,
      acts: setup.acts,
      perform,
      happened: () => world.told,
      isHeldBack: () => this.underWay >= underWayMax,
      onPace: (pace) => {
        if (counts()) this.paced(pace);
      },
      wallMs: () => performance.now(),
    });
    this.running = { setup, world, pacer };
    this.say({ kind: 'begun', setup });
    pacer.set(asFastAsItGoes(atMs ?? Number.POSITIVE_INFINITY));
    const failed = (error: Error): void => {
      if (counts()) this.say({ kind: 'failed', text: error.message });
    };
    void world.live(() => false).catch(failed);
  }

  private tell(frames: readonly Frame[], atMs: number): void {
    this.underWay += 1;
    this.say({ kind: 'frames', frames, atMs });
    if (!this.isPreparing || this.running?.world.beganMs === null) return;
    this.isPreparing = false;
    this.running?.pacer.set(asItHappened);
  }

  private paced(pace: Pace): void {
    const { world } = this.running!;
    if (pace.mode === 'standing') world.tellNow();
    this.say({ kind: 'pace', pace, atMs: world.group.time.nowMs() });
    // Whoever waited has been told of all that by then.
    if (pace.mode === 'standing') for (const { id } of this.waiting.splice(0)) this.answer(id, { ok: true });
  }

  private answer(id: number, answer: object): void {
    this.say({ kind: 'answer', id, answer });
  }

  private dismiss(message: string): void {
    for (const { id } of this.waiting.splice(0)) this.answer(id, { error: { code: 'gone', message } });
  }

  private ask(id: number, ask: Ask): void {
    const { running } = this;
    if (running === null) {
      this.answer(id, { error: { code: 'unavailable', message: 'No run has begun.' } });
      return;
    }
    const { world, pacer, setup } = running;
    switch (ask.kind) {
      case 'act': {
        const isTaken = pacer.act(ask.deed, (answer) => this.answer(id, answer), ask.notBeforeMs);
        if (isTaken) this.say({ kind: 'acts', acts: pacer.acts });
        else this.answer(id, { error: { code: 'tooMany', message: 'No more can be done to this run.' } });
        return;
      }
      case 'slot':
        pacer.look(async () => this.answer(id, await world.slot(ask.slot)));
        return;
      case 'step':
        this.isPreparing = false;
        this.waiting.push({ id });
        pacer.set({ mode: 'stepping' });
        return;
      case 'fork': {
        const acts: readonly Act[] = pacer.acts.filter(([atMs]) => atMs <= ask.atMs);
        this.begin({ ...setup, acts }, ask.atMs);
        this.waiting.push({ id });
        return;
      }
      default:
        ask satisfies never;
    }
  }
}
