/** A minor version of PostgreSQL is replaced under load, replica by replica, followers first, as docs/operations.md has it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ServedGroup } from '../cluster/served-group.ts';
import { CannotRun, type Drill } from './drill.ts';
import {
  describeLedger,
  judgeLedger,
  judgeReplicas,
  startGroupLedger,
  untilAcknowledged,
} from './group-ledger.ts';

const settings = { verify: { everyMinutes: 0 } };
const serveMsMax = 60_000;

export const minorUpgrade: Drill = async ({ seconds, keep, older, say }) => {
  if (older === null)
    throw new CannotRun('Name the programs of an older minor version of PostgreSQL with --older DIR.');
  const { stdout } = await promisify(execFile)(join(older, 'postgres'), ['--version']);
  say(`The group begins with ${stdout.trim()}.`);
  const group = await ServedGroup.create({ settings: { ...settings, postgres: { pgBin: older } } });
  const faults: string[] = [];
  try {
    const ledger = await startGroupLedger(group);
    await sleep(seconds * 500);
    const leader = await group.leader();
    for (const id of [...group.ids.filter((each) => each !== leader), leader]) {
      if ((await group.leader()) === id) {
        const { code, output } = await group.barista(id, ['leader', 'transfer']);
        say(output);
        if (code !== 0) faults.push(`Leadership could not be handed over: ${output}`);
      }
      await group.interrupt(id);
      await group.configure(id, settings);
      group.start(id);
      const version = (await group.whole()).find((status) => status.id === id)?.postgres.version ?? 'unknown';
      say(`${id} runs PostgreSQL ${version}, and votes.`);
      if ((await untilAcknowledged(ledger, serveMsMax)) === null)
        faults.push(`Nothing was acknowledged behind the restart of ${id}.`);
    }
    await sleep(seconds * 250);
    const result = await ledger.stop();
    say(`${describeLedger(result)}.`);
    const versions = new Set((await group.settled()).map(({ postgres }) => postgres.version));
    if (versions.size !== 1) faults.push(`Several versions run: ${[...versions].join(', ')}.`);
    faults.push(...(await judgeLedger(group, result)), ...(await judgeReplicas(group)));
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await group.stop(keep || faults.length > 0);
  }
  return faults;
};
