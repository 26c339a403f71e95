/**
 * One clock for two simulated worlds: neither gets further ahead than a little, and where they are held they stand at the same moment.
 *
 * Responsible for: how far each may go, what the two are told of their pace, and at which moment an act befalls both. Knows the two by their messages alone.
 * Invariant: no world passes `toMs`, which is moved on only when both have come near it; so what is to be done behind it befalls both at the same time.
 */
import type { SimulatorPort } from '../run/simulated-source.ts';
import type { FromSimulator, Pace, ToSimulator } from '../run/simulated/protocol.ts';
import type { WorldPace } from '../run/source.ts';

/** How far a world may be ahead of the other, on the wall's clock. */
const leadMs = 250;
const stepMs = 100;

interface Side {
  readonly port: SimulatorPort;
  atMs: number;
  isStanding: boolean;
  /** It goes on no more, until it is begun anew. */
  hasFailed: boolean;
}

export class Lockstep {
  private readonly sides: Side[] = [];
  private readonly listeners = new Set<() => void>();
  private waiting: (() => void)[] = [];
  private wanted: WorldPace;
  private toMs: number;

  /** Both are to be begun, and to stand at `fromMs`; from there they go on by themselves if `goesOn`. */
  constructor(fromMs: number, goesOn: boolean) {
    this.toMs = fromMs;
    this.wanted = goesOn ? { mode: 'running', speed: 1 } : { mode: 'standing' };
  }

  /** The same port, which is listened to. */
  join(port: SimulatorPort): SimulatorPort {
    const side: Side = { port, atMs: 0, isStanding: false, hasFailed: false };
    this.sides.push(side);
    return {
      post: (message: ToSimulator) => port.post(message),
      listen: (listener) =>
        port.listen((message) => {
          listener(message);
          this.hear(side, message);
        }),
      end: () => port.end(),
    };
  }

  private hear(side: Side, message: FromSimulator): void {
    if (message.kind === 'frames') side.atMs = message.atMs;
    else if (message.kind === 'pace') {
      side.atMs = message.atMs;
      side.isStanding = message.pace.mode === 'standing';
    } else if (message.kind === 'begun') side.hasFailed = false;
    else if (message.kind === 'failed') this.fail(side);
    else return;
    if (this.bothStand) for (const resolve of this.waiting.splice(0)) resolve();
    this.goOn();
  }

  /** The other one goes on to where it may, and stands there. */
  private fail(side: Side): void {
    side.hasFailed = true;
    side.isStanding = true;
    this.want({ mode: 'standing' });
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private get canGoOn(): boolean {
    return this.sides.every(({ hasFailed }) => !hasFailed);
  }

  private get bothStand(): boolean {
    return this.sides.every(({ isStanding }) => isStanding);
  }

  private goOn(): void {
    if (this.wanted.mode !== 'running' || this.waiting.length > 0) return;
    const { speed } = this.wanted;
    const behindMs = this.bothStand ? this.toMs : Math.min(...this.sides.map(({ atMs }) => atMs));
    const limitMs = Math.ceil(behindMs + Math.max(stepMs, leadMs * speed));
    if (this.bothStand || limitMs >= this.toMs + stepMs / 2) this.pass(speed, limitMs);
  }

  private pass(speed: number, toMs: number): void {
    this.toMs = Math.max(this.toMs, toMs);
    const pace: Pace = { mode: 'running', speed, toMs: this.toMs };
    for (const side of this.sides) {
      side.isStanding = false;
      side.port.post({ kind: 'pace', pace });
    }
  }

  /** Until both stand where they may go to. */
  private stood(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private want(pace: WorldPace): void {
    this.wanted = pace;
    for (const listener of this.listeners) listener();
  }

  pace(): WorldPace {
    return this.wanted;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  run(speed: number): void {
    if (!this.canGoOn) return;
    this.want({ mode: 'running', speed });
    this.goOn();
  }

  /** Both go on to where they may, and stand there. */
  pause(): void {
    this.want({ mode: 'standing' });
    if (this.canGoOn && !this.bothStand) this.pass(Number.POSITIVE_INFINITY, this.toMs);
  }

  async step(): Promise<void> {
    if (this.wanted.mode === 'running' || !this.bothStand || !this.canGoOn) return;
    const standing = this.stood();
    this.pass(Number.POSITIVE_INFINITY, this.toMs + stepMs);
    await standing;
  }

  /** Both are being made anew, and will stand at `atMs`. */
  async remade(atMs: number, remake: () => Promise<unknown>): Promise<void> {
    this.want({ mode: 'standing' });
    this.toMs = Math.floor(atMs);
    for (const side of this.sides) side.isStanding = false;
    await remake();
  }

  /** When something that is done to both now befalls them. */
  actMs(): number {
    // Where both stand they pass on to that moment, and no further.
    return this.wanted.mode === 'running' ? this.toMs + 1 : this.toMs;
  }
}
