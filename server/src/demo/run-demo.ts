/** Runs the demo until Ctrl-C, SIGTERM or a hang-up of the terminal, and stops all of it then. */
import { pino } from 'pino';
import { CliError, exitCodes, type ExitCode } from '../main/errors.ts';
import { type DemoSetup, startDemo, welcomeText } from './demo.ts';

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export async function runDemo(setup: Omit<DemoSetup, 'say' | 'logger'>): Promise<ExitCode> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const logger = pino({ name: 'demo', level: 'warn' }, pino.destination({ dest: 2, sync: true }));
  const abort = new AbortController();
  const asked = new Promise<void>((resolve) => {
    const onSignal = (): void => {
      if (abort.signal.aborted) return;
      abort.abort(new CliError('Stopped before the cluster was ready.'));
      say('\nStopping...');
      resolve();
    };
    // Stays in place: a second Ctrl-C must not cut the stopping short, or processes would be left.
    for (const name of signals) process.on(name, onSignal);
  });
  try {
    const demo = await startDemo({ ...setup, say, logger }, abort.signal);
    say(welcomeText(demo));
    await asked;
    await demo.stop();
    say('Stopped.');
    return exitCodes.ok;
  } catch (error) {
    if (abort.signal.aborted && error === abort.signal.reason) return exitCodes.ok;
    throw error;
  }
}
