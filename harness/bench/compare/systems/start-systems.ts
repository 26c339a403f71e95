/** Starts all that is to be compared, with the same settings, and ends it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../../../server/src/adapters/testing/ports.ts';
import { startBarista, type BaristaSystems } from './barista.ts';
import { galeraIsInstalled, galeraPorts, startGalera } from './galera.ts';
import { startNative } from './native.ts';
import { installed, type Peer, type PeerOptions } from './peer-program.ts';
import { pgpoolPorts, startPgpool } from './pgpool.ts';
import { systemLabels, type System, type SystemId } from './system.ts';

export interface WantedSystems {
  readonly ids: readonly SystemId[];
  /** Barista's command. */
  readonly bin: string;
  /** Everything is made in it. */
  readonly root: string;
  readonly replicas: number;
  readonly clientsMax: number;
  /** Between each two replicas, one way; for what others have written there is none. */
  readonly delayMs: number;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface StartedSystems {
  readonly barista: BaristaSystems;
  /** Those that are wanted and are there, in the order in which they were named. */
  readonly systems: readonly System[];
  readonly postgres: string;
  readonly quorum: string;
  readonly peers: Readonly<Partial<Record<SystemId, string>>>;
  stop(): Promise<void>;
}

/** @throws Error in plain words, with nothing left running */
export async function startSystems(wanted: WantedSystems): Promise<StartedSystems> {
  const { ids, bin, root, replicas, clientsMax, delayMs, progress, signal } = wanted;
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.toReversed())
      await step().catch((error: unknown) => progress(`while ending: ${(error as Error).message}`));
  };
  try {
    progress(`starting ${replicas} replicas, one PostgreSQL, and one with ${replicas - 1} standbys`);
    await mkdir(root, { recursive: true });
    const barista = await startBarista(bin, join(root, 'cluster'), { replicas, clientsMax, delayMs });
    undo.push(() => barista.stop());
    signal.throwIfAborted();
    const { settings } = barista;
    const native = await startNative({
      root: join(root, 'native'),
      port: await freePorts(replicas + 1),
      settings,
      standbys: replicas - 1,
      delayMs,
    });
    undo.push(() => native.stop());
    const all = new Map<SystemId, System>();
    for (const system of [native.plain, native.native, native.remoteApply]) all.set(system.id, system);
    for (const system of [barista.barista, barista.direct, barista.follower, barista.readers])
      all.set(system.id, system);
    const peers: Partial<Record<SystemId, string>> = {};
    const begin = async (
      id: SystemId,
      ports: number,
      start: (options: PeerOptions) => Promise<Peer> | null,
    ): Promise<void> => {
      if (!ids.includes(id)) return;
      signal.throwIfAborted();
      const options = {
        root: join(root, id),
        port: await freePorts(ports),
        replicas,
        clientsMax,
        settings,
      };
      const starting = start(options);
      if (starting === null) return progress(`${systemLabels[id]} is not installed here, and left out`);
      progress(`starting ${systemLabels[id]}`);
      const peer = await starting.catch((error: unknown) => {
        progress(`left out: ${systemLabels[id]}: ${(error as Error).message}`);
        return null;
      });
      if (peer === null) return;
      undo.push(() => peer.stop());
      all.set(id, peer.system);
      peers[id] = peer.version;
    };
    await begin('pgpool', pgpoolPorts(replicas), (options) => {
      const program = installed('pgpool');
      return program === null ? null : startPgpool(program, options);
    });
    await begin('galera', galeraPorts(replicas), (options) => {
      const program = installed('mariadbd');
      return program === null || !galeraIsInstalled() ? null : startGalera(program, options);
    });
    const systems = ids.map((id) => all.get(id)).filter((system) => system !== undefined);
    return { barista, systems, postgres: native.version, quorum: native.quorum, peers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
