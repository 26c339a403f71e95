/**
 * The leader's machine sleeps for longer than any lease, and wakes up: all of its processes are stopped and continued, under a bank's load. Meanwhile another one leads; nothing that the sleeper answers when it wakes may be out of date.
 *
 * Clocks that run at other rates or are set, and reads that are judged one by one: `npm run nemesis -- --faults pause,pausePostgres,clockRate,wallClock`. What a suspension of a real machine does to clocks: adapters/system-clock.test.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServedGroup } from '../cluster/served-group.ts';
import { childrenOf, signalAll } from '../nemesis/processes.ts';
import { startBankLoad } from '../workload/bank-load.ts';
import type { Drill } from './drill.ts';
import { judgeReplicas } from './group-ledger.ts';

const times = 3;
/** More than twice what an election takes. */
const asleepMs = 6000;

export const machineSleeps: Drill = async ({ seconds, keep, say }) => {
  const group = await ServedGroup.found({ verify: { everyMinutes: 0 } });
  say(`Three replicas serve, in ${group.root}.`);
  const faults: string[] = [];
  try {
    const ports = group.pgwirePorts;
    const bank = await startBankLoad({ ports, seed: 1, pace: 2 });
    for (let time = 1; time <= times; time++) {
      await sleep((seconds * 1000) / times);
      const leader = await group.leader();
      const pids = await processesOf(group, leader);
      signalAll(pids, 'SIGSTOP');
      say(`${time} of ${times}: ${leader}, which leads, sleeps with all of its ${pids.length} processes.`);
      await sleep(asleepMs);
      const next = await group.leader();
      signalAll(pids, 'SIGCONT');
      say(`${leader} wakes up after ${asleepMs / 1000} s and more; ${next} leads.`);
      await group.whole();
    }
    await bank.stop();
    await group.settled();
    const { anomalies, transfers, reads } = await bank.finish();
    say(
      `${transfers} transfers and ${reads} reads were acknowledged; they are judged, and the replicas compared.`,
    );
    faults.push(
      ...anomalies.map(({ kind, summary }) => `${kind}: ${summary}`),
      ...(await judgeReplicas(group)),
    );
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await group.stop(keep || faults.length > 0);
  }
  return faults;
};

async function processesOf(group: ServedGroup, id: string): Promise<readonly number[]> {
  const node = group.processOf(id);
  const postmaster = await group.postmaster(id);
  const children = postmaster === null ? [] : await childrenOf(postmaster);
  return [node, postmaster, ...children].filter((pid) => pid !== null);
}
