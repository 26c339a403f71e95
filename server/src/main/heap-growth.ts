/**
 * How much garbage V8 lets pile up before it looks through the whole heap for it.
 *
 * WAL passes through a replica in buffers, which V8 counts as part of a heap that is small otherwise (some 22 MB). Left to itself it allows for little more than the heap has, and so began to mark all of it, on four threads, for each
 * 14 MB of buffers: under load about half of all that the process did. So the heap may grow to four times what was in use.
 */
import { setFlagsFromString } from 'node:v8';

export const heapGrowth = '--heap-growing-percent=300';

/** To be called once, before there is much of a heap. V8 ignores an option that it does not know. */
export function letHeapGrow(): void {
  setFlagsFromString(heapGrowth);
}
