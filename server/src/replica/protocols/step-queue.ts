/** Inputs of a pure core, one at a time: what comes in the middle of a step waits for its end. */
export class StepQueue<Input> {
  private readonly step: (input: Input) => void;
  private readonly onFailed: (error: Error) => void;
  private waiting: Input[] = [];
  private isStepping = false;

  /** `step` feeds the core and carries out what follows. `onFailed`: an invariant of it is broken. */
  constructor(step: (input: Input) => void, onFailed: (error: Error) => void) {
    this.step = step;
    this.onFailed = onFailed;
  }

  push(input: Input): void {
    this.waiting.push(input);
    if (this.isStepping) return;
    this.isStepping = true;
    try {
      for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) this.step(next);
    } catch (error) {
      this.onFailed(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.isStepping = false;
    }
  }
}
