/**
 * The power of all machines goes at once, under load, and comes back: all processes of all replicas are killed, each log gets what a disk may leave of a write that was under way, and the replicas are started again.
 *
 * What a kill does not do is lose what the operating system had not written yet: groups in simulated time do that (harness/groups), on disks that tear, lose and reorder.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServedGroup } from '../cluster/served-group.ts';
import { tearTail } from '../nemesis/damage-log.ts';
import type { Drill, DrillContext } from './drill.ts';
import {
  describeLedger,
  judgeLedger,
  judgeReplicas,
  secondsText,
  startGroupLedger,
  untilAcknowledged,
} from './group-ledger.ts';

const serveMsMax = 120_000;

export const powerLoss: Drill = (context) => losePower(3, context);

/** So often. */
export async function losePower(
  times: number,
  { seconds, keep, say }: DrillContext,
): Promise<readonly string[]> {
  const group = await ServedGroup.found({ verify: { everyMinutes: 0 } });
  say(`Three replicas serve, in ${group.root}.`);
  const faults: string[] = [];
  try {
    const ledger = await startGroupLedger(group);
    for (let time = 1; time <= times; time++) {
      await sleep((seconds * 1000) / times);
      const before = ledger.acknowledged();
      const killed = await group.killAll();
      for (const id of group.ids) await tearTail(join(group.dataDir(id), 'log'));
      say(
        `${time} of ${times}: ${killed} processes killed at once, after ${before} rows; their logs end in torn writes.`,
      );
      for (const id of group.ids) group.start(id);
      const tookMs = await untilAcknowledged(ledger, serveMsMax);
      if (tookMs === null)
        throw new Error(`nothing was acknowledged for ${serveMsMax / 1000} s after the start`);
      say(
        `The first row is acknowledged ${secondsText(tookMs)} after the start of the replicas. Nobody did anything.`,
      );
    }
    await sleep(2000);
    const result = await ledger.stop();
    say(`${describeLedger(result)}.`);
    await group.settled();
    say('All replicas vote and have everything; they are compared.');
    faults.push(...(await judgeLedger(group, result)), ...(await judgeReplicas(group)));
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await group.stop(keep || faults.length > 0);
  }
  return faults;
}
