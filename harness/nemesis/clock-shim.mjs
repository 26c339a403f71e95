/**
 * Gives the process that loads it another clock: `NODE_OPTIONS=--import=file:///.../clock-shim.mjs`, for replicas of the nemesis only.
 *
 * A replica (`serve CONFIG`) reads `CONFIG` with `.clock` instead of `.yaml` a few times a second: `{"rate": 1.03, "wallMs": 3600000}`. Its monotonic clock then runs
 * by that rate, without a jump, and its wall clock is off by so much. What it has taken over it writes to the same name with `.seen`. Timers keep the machine's pace: a
 * late or early timer is something that every replica must expect anyway. Any other process that inherits the option is left alone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const pollMs = 150;
const [, , command, ...rest] = process.argv;
const config = rest.find((argument) => argument.endsWith('.yaml'));
if (command === 'serve' && config !== undefined) install(config.replace(/\.yaml$/, ''));

function install(base) {
  const realNow = performance.now.bind(performance);
  const RealDate = Date;
  const realDateNow = Date.now.bind(Date);
  let rate = 1;
  let wallMs = 0;
  let since = { real: 0, shown: 0 };
  let text = '';
  const monotonic = () => since.shown + (realNow() - since.real) * rate;
  performance.now = monotonic;
  globalThis.Date = class Date extends RealDate {
    constructor(...parts) {
      if (parts.length === 0) super(realDateNow() + wallMs);
      else super(...parts);
    }
    static now() {
      return realDateNow() + wallMs;
    }
  };
  const poll = () => {
    try {
      const found = readFileSync(`${base}.clock`, 'utf8');
      if (found === text) return;
      const wanted = JSON.parse(found);
      since = { shown: monotonic(), real: realNow() };
      rate = wanted.rate;
      wallMs = wanted.wallMs;
      text = found;
      writeFileSync(`${base}.seen`, found);
    } catch {
      // No file: the machine's clock. A file that is half written is read the next time.
    }
  };
  poll();
  setInterval(poll, pollMs).unref();
}
