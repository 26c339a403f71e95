/**
 * Has what `barista doctor` judges be found out by a process of its own.
 *
 * A disk that does not answer holds whoever asked it, to the end of the process and beyond. Such a process is left behind, and the doctor can still say so.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { DoctorFacts } from './facts.ts';

/** What is looked at hangs for some seconds at most, each, and only the configuration has no bound. */
const waitMsMax = 60_000;

/** @throws Error if nothing is heard */
export function collectFactsApart(configFile: string): Promise<DoctorFacts> {
  const module = fileURLToPath(new URL('./collect-main.js', import.meta.url));
  const child = fork(module, [configFile], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    // What hangs takes a thread each, and the others must find one.
    env: { ...process.env, UV_THREADPOOL_SIZE: '64' },
  });
  return new Promise<DoctorFacts>((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(
          new Error(
            `no facts could be collected within ${waitMsMax / 1000} s: check the disk that holds ${configFile}`,
          ),
        ),
      waitMsMax,
    );
    child.once('message', (facts) => resolve(facts as DoctorFacts));
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`the process that collects facts ended with ${code ?? 'a signal'}`)),
    );
    child.once('exit', () => clearTimeout(timer));
  }).finally(() => {
    child.kill('SIGKILL');
    child.unref();
  });
}
