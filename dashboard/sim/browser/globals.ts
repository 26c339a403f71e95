/**
 * What the replica's code takes for granted in Node.js, and a browser does not have: Buffer, setImmediate, the number of the process.
 *
 * Imported before anything that uses them. Invariant: a callback of setImmediate comes when everything that waits for a promise has run, as in Node.js.
 */
import { Buffer } from 'buffer/';

const waiting: (() => void)[] = [];
const { port1, port2 } = new MessageChannel();
port1.addEventListener('message', () => waiting.shift()?.());
port1.start();

Object.assign(globalThis, {
  Buffer,
  process: { pid: 0, env: {}, platform: 'browser' },
  setImmediate(work: () => void) {
    waiting.push(work);
    port2.postMessage(null);
  },
});
