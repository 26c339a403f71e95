/**
 * Tells a PostgreSQL that is busy coming up from one that hangs: by what its startup process, which replays WAL, and its checkpointer, for which the other waits at the end, have done until now.
 *
 * The others tell nothing: some wake up by themselves, and the main process waits. Linux only.
 */
import { readdir, readFile } from 'node:fs/promises';

/** Processor time and turns of those two, or of the main process while there is neither: what differs later has done something. Null: there is no such process, or the system does not tell. */
export async function workMarkOf(main: number): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  const working = await workingProcessesOf(main);
  const marks = await Promise.all((working.length === 0 ? [main] : working).map(markOf));
  return marks.includes(null) ? null : marks.join(', ');
}

async function markOf(pid: number): Promise<string | null> {
  const [stat, status] = await Promise.all([fieldsOf(pid), readProc(pid, 'status')]);
  if (stat === null || status === null) return null;
  const turns = [...status.matchAll(/^(?:non)?voluntary_ctxt_switches:\s*(\d+)/gm)].map(([, n]) => n);
  return [pid, stat[11], stat[12], ...turns].join(' ');
}

async function workingProcessesOf(main: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await fieldsOf(Number(name));
    if (stat === null || stat[1] !== String(main)) continue;
    const title = await readProc(Number(name), 'cmdline');
    if (title !== null && /^postgres: (?:\S+: )?(?:startup|checkpointer)\b/.test(title))
      found.push(Number(name));
  }
  return found;
}

/** From the state on: the field before it is the program's name, and may hold anything. */
async function fieldsOf(pid: number): Promise<readonly string[] | null> {
  const stat = await readProc(pid, 'stat');
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(pid: number, file: string): Promise<string | null> {
  return readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => null);
}
