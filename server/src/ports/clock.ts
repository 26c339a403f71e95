/** Time for the shell. The core gets `nowMs` with each input instead. */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary start, with fractions. */
  nowMs(): number;
}

/** A clock that calls back: the system's, or a simulated one, under which a run can be repeated exactly. */
export interface Timers extends Clock {
  /** Calls once, after `ms`. Returns the way to give it up. */
  after(ms: number, work: () => void): () => void;
  /** Calls again and again, `ms` apart. Returns the way to stop. */
  every(ms: number, work: () => void): () => void;
  /** Calls as soon as everything is done that this turn of the event loop has brought. */
  soon(work: () => void): void;
}
