/**
 * Loaded into a replica's process before anything else (`node --import`): SIGUSR2 begins a sampling profile of its main thread, and the next one writes it to BARISTA_PROFILES/PID.cpuprofile.
 *
 * Plain JavaScript, since the process that it is loaded into knows of no TypeScript.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const intervalUs = 250;
const directory = process.env['BARISTA_PROFILES'];

if (directory !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: intervalUs });
  let isRunning = false;
  process.on('SIGUSR2', () => {
    isRunning = !isRunning;
    if (isRunning) {
      session.post('Profiler.start');
      return;
    }
    session.post('Profiler.stop', (error, answer) => {
      const file = join(directory, `${process.pid}.cpuprofile`);
      writeFileSync(`${file}.part`, error === null ? JSON.stringify(answer.profile) : String(error));
      renameSync(`${file}.part`, file);
    });
  });
}
