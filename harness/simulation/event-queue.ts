/** What happens when, in simulated time: a binary heap. Events of the same instant run in the order in which they were added. */

interface QueuedEvent {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class EventQueue {
  nowMs = 0;
  private readonly heap: QueuedEvent[] = [];
  private added = 0;

  /** `delayMs` from now; never in the past. */
  after(delayMs: number, run: () => void): void {
    this.added += 1;
    this.heap.push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.added, run });
    this.up(this.heap.length - 1);
  }

  /** Runs the next event. False if there is none. */
  next(): boolean {
    const first = this.heap[0];
    if (first === undefined) return false;
    const last = this.heap.pop()!;
    if (this.heap.length > 0) {
      this.heap[0] = last;
      this.down();
    }
    this.nowMs = first.atMs;
    first.run();
    return true;
  }

  private up(start: number): void {
    let index = start;
    const item = this.heap[index]!;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.heap[parent]!;
      if (isBefore(above, item)) break;
      this.heap[index] = above;
      index = parent;
    }
    this.heap[index] = item;
  }

  private down(): void {
    const { heap } = this;
    const item = heap[0]!;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(item, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = item;
  }
}

function isBefore(left: QueuedEvent, right: QueuedEvent): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}
