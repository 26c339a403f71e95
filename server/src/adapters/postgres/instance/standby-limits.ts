/**
 * The settings that bound what a standby can hold in memory of its primary's transactions: PostgreSQL replays no WAL for readers of a primary that had higher ones.
 *
 * Responsible for: what the WAL in a directory asks for, as pg_control has it, and hearing PostgreSQL say that the WAL it replays asks for more. Such a standby waits for ever, but pg_control has the new values by
 * then: started again, it goes on. Replicas may so be given other settings one after the other, and what is in force never falls below what the WAL asks for.
 */
import { readFile } from '../account-files.ts';
import { join } from 'node:path';
import { readControlSettings } from '../copy/control-file.ts';

/** The least that a standby must be started with. @throws ControlFileError; the file system's error */
export async function leastSettings(dataDir: string): Promise<Readonly<Record<string, number>>> {
  return { ...readControlSettings(await readFile(join(dataDir, 'global', 'pg_control'))) };
}

/** PostgreSQL's own defaults, where nothing is configured. */
const defaults: Readonly<Record<string, number>> = { max_worker_processes: 8, max_locks_per_transaction: 64 };

/** The settings with those raised that are below the least; what is no number is left to PostgreSQL to judge. */
export function raisedTo(
  least: Readonly<Record<string, number>>,
  settings: Readonly<Record<string, string>>,
): Record<string, string> {
  const raised = Object.entries(least).flatMap(([name, value]) => {
    const configured = Number(settings[name] ?? defaults[name] ?? 0);
    return configured < value ? [[name, String(value)]] : [];
  });
  return { ...settings, ...(Object.fromEntries(raised) as Record<string, string>) };
}

const fallsShort = /hot standby is not possible because of insufficient parameter settings/;
const messageCharsMax = 300;

/** Calls back once when PostgreSQL says that this standby cannot go on. To be given what it writes to its log, in pieces of any size. */
export function watchLimits(onShort: () => void): (text: string) => void {
  let rest = '';
  let isTold = false;
  return (text) => {
    rest += text;
    if (!isTold && fallsShort.test(rest)) {
      isTold = true;
      onShort();
    }
    rest = rest.slice(-messageCharsMax);
  };
}
