/** Time for the shell. The core gets `nowMs` with each input instead. */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary start, with fractions. */
  nowMs(): number;
}
