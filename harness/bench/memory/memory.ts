/**
 * `npm run bench -- memory`: what the Node.js of each replica holds of the machine's memory under a load that goes on.
 *
 * Responsible for: the load (runs of half a minute, each with connections of its own, of UPDATE by key and TPC-B in turn), and looking at the processes meanwhile.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownCheckout } from '../build-server.ts';
import { loadAccounts, runLoad, workload, writeScripts } from '../compare/loads/workloads.ts';
import { requireBuilt, startBarista, versionOf } from '../compare/systems/barista.ts';
import type { Shell } from '../interruptible.ts';
import { describeMachine, type Machine } from '../machine.ts';

const lookMs = 5000;
const secondsPerRun = 30;

export interface MemoryOptions {
  readonly minutes: number;
  readonly clients: number;
  readonly scale: number;
}

/** MiB of one replica's Node.js that are in memory, at so many seconds. */
export interface Look {
  readonly atSeconds: number;
  readonly residentMiB: number;
}

export interface MemoryRun {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly options: MemoryOptions;
  readonly transactions: number;
  /** By replica; the first one led when it began. */
  readonly looks: Readonly<Record<string, readonly Look[]>>;
}

export async function measureMemory(options: MemoryOptions, { signal, progress }: Shell): Promise<MemoryRun> {
  const machine = describeMachine();
  const { commit } = await versionOf(ownCheckout);
  const root = await mkdtemp(join(tmpdir(), 'barista-memory-'));
  try {
    const scripts = await writeScripts(root);
    progress('starting three replicas');
    const systems = await startBarista(requireBuilt(ownCheckout), join(root, 'cluster'));
    try {
      progress(`loading scale ${options.scale}`);
      await loadAccounts(systems.barista, options.scale, signal);
      const { id: first } = await systems.cluster.leader();
      const statuses = await systems.cluster.settled();
      const pids = new Map(
        statuses.toSorted((a) => (a.id === first ? -1 : 1)).map(({ id, pid }) => [id, pid]),
      );
      const looks: Record<string, Look[]> = {};
      for (const id of pids.keys()) looks[id] = [];
      const over = new AbortController();
      const beganMs = performance.now();
      const looking = (async () => {
        while (!over.signal.aborted) {
          const atSeconds = (performance.now() - beganMs) / 1000;
          for (const [id, pid] of pids) looks[id]!.push({ atSeconds, residentMiB: residentMiB(pid) });
          await sleep(lookMs, undefined, { signal: over.signal }).catch(() => undefined);
        }
      })();
      // What goes wrong there is thrown when it is waited for.
      looking.catch(() => undefined);
      let transactions = 0;
      try {
        for (let run = 0; performance.now() - beganMs < options.minutes * 60_000; run++) {
          signal.throwIfAborted();
          const what = workload(run % 2 === 0 ? 'update' : 'tpcb', options.clients);
          const load = { workload: what, scale: options.scale, seconds: secondsPerRun, scripts };
          const done = await runLoad(await systems.barista.doors(), load, signal);
          transactions += done.transactions;
          const held = [...pids].map(([id, pid]) => `${id} ${residentMiB(pid).toFixed(0)} MiB`);
          progress(`${what.label}: ${done.tps.toFixed(0)}/s; ${held.join(', ')}`);
        }
      } finally {
        over.abort();
        await looking;
      }
      return { machine, commit, options, transactions, looks };
    } finally {
      await systems.stop();
    }
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** @throws Error if that process is gone: then it was not the same one that went on */
function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error(`process ${pid} does not say how much memory it has`);
  return Number(kib) / 1024;
}
