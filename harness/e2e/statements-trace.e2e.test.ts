/**
 * What real processes of single-decree Paxos, and of a primary with copies, recorded while one after the other was killed under load is a behaviour of the specifications, and the same record with one event altered is not.
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import {
  judgeProcesses,
  processAlterations,
  refusedAlterations,
} from '../conformance/processes/judge-processes.ts';
import { readEvents } from '../conformance/trace/trace-files.ts';
import { ReplicaClients } from './replica-clients.ts';

/** What is recorded is judged whole: some hundred slots. */
const paceMs = 400;

let cluster: LocalCluster | null = null;
let clients: ReplicaClients | null = null;

afterEach(async () => {
  await clients?.end();
  await cluster?.stop();
});

/** A client at each replica writes, whatever it hears, while two of them are killed in turn, and come back. */
async function strain(running: LocalCluster): Promise<void> {
  const until = { isOver: false };
  const write = async (replica: number): Promise<void> => {
    let client: Client | null = null;
    for (let n = 0; !until.isOver; n += 1) {
      client ??= await clients!.connect(replica).catch(() => null);
      const isDone = await client?.query('INSERT INTO kept VALUES ($1)', [`${replica}.${n}`]).then(
        () => true,
        () => false,
      );
      if (isDone !== true) client = null;
      await new Promise((resolve) => setTimeout(resolve, paceMs));
    }
  };
  const writers = clients!.replicas.map(write);
  for (const replica of ['r2', 'r1'] as ReplicaId[]) {
    await running.fault({ action: 'crash', replica });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await running.fault({ action: 'restart', replica });
    await running.settled(120_000);
  }
  until.isOver = true;
  await Promise.all(writers);
}

describe.each([
  [
    'paxos',
    'Paxos',
    [
      'Propose',
      'StartBallot',
      'StartAccept',
      'Decide',
      'HandlePrepare',
      'HandleAccept',
      'HandleLearn',
      'Apply',
      'Fsync',
      'Crash',
      'Restart',
    ],
  ],
  [
    'primary',
    'PrimaryCopies',
    [
      'SuspectPrimary',
      'GiveWord',
      'TakeOver',
      'LogOperation',
      'ReceiveOperations',
      'PushToDatabase',
      'TellReceived',
      'Acknowledge',
      'Fsync',
      'Crash',
      'Restart',
    ],
  ],
] as const)('the trace of %s', (protocol, module, actions) => {
  it('is a behaviour of the specification, and is none when it is altered', async () => {
    cluster = await startCluster({
      args: ['--payload=statements', `--protocol=${protocol}`, '--trace', '--no-dashboard'],
    });
    clients = new ReplicaClients(cluster);
    const first = await clients.connect(0);
    await first.query('CREATE TABLE kept (n text)');
    await first.end();
    await strain(cluster);
    await cluster.settled(60_000);
    await cluster.interrupt();
    const events = readEvents(['r1', 'r2', 'r3'].map((id) => join(cluster!.dataDir, id, 'trace')));
    const verdict = await judgeProcesses(events);
    expect(verdict).toMatchObject({ protocol: module, refused: null });
    expect([...verdict.actions.keys()]).toEqual(expect.arrayContaining([...actions]));
    const altered = await refusedAlterations(events, module);
    expect([...altered]).toEqual(Object.keys(processAlterations[module]).map((shows) => [shows, true]));
  });
});
