/**
 * Finds out what `barista doctor` judges, for one replica and from its machine.
 *
 * Changes nothing, but for a file of some pages that it writes in dataDir and removes. Invariant: never rejects, whatever is missing, hangs or may not be read; nothing takes longer than some seconds.
 */
import { readFile } from '../../adapters/file-system.ts';
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isMountPoint } from '../../adapters/mount-point.ts';
import {
  listSegments,
  readArchiveState,
  stretchesOf,
} from '../../adapters/postgres/archive/archive-contents.ts';
import { readBackupEnds } from '../../adapters/postgres/backup/backup-file.ts';
import { ownerOf, placesOf } from '../../adapters/postgres/database-directory.ts';
import { locateBinaries } from '../../adapters/postgres/binaries.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { memberFacts, statusFacts } from './collect-network.ts';
import { known, measureSync, openFilesMaxOf, placeFacts } from './collect-places.ts';
import type { ArchiveFacts, BackupFacts, DoctorFacts, Known } from './facts.ts';

const run = promisify(execFile);
/** Long enough to tell a clock that is wrong from a process that had to wait. */
const watchMs = 500;
/** A disk of another machine may not answer at all. */
const lookMs = 10_000;

export async function collectFacts(configFile: string): Promise<DoctorFacts> {
  const clock = clockShift();
  const config = configIn(configFile);
  const isRoot = process.getuid?.() === 0;
  const [isClockSynchronized, clockSource] = await Promise.all([synchronized(), sourceOfClock()]);
  const own = config.ok ? await replicaFacts(configFile, config.value) : nothing;
  return {
    ...own,
    nowMs: Date.now(),
    configFile,
    config,
    isRoot,
    isClockSynchronized,
    clockSource,
    clockShiftMs: await clock,
  };
}

/** All that is wrong with it is told, in several lines. */
function configIn(file: string): Known<ReplicaConfig> {
  try {
    return { ok: true, value: loadReplicaConfig(file) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

type OwnFacts = Omit<
  DoctorFacts,
  'nowMs' | 'configFile' | 'config' | 'isRoot' | 'isClockSynchronized' | 'clockSource' | 'clockShiftMs'
>;

const nothing: OwnFacts = {
  secretModes: [],
  dataDir: null,
  isPostgresMounted: false,
  archivePlace: null,
  backupPlace: null,
  programs: null,
  dataMajorVersion: null,
  syncMs: null,
  status: null,
  members: [],
  openFilesMax: null,
  archive: null,
  backups: null,
  setAside: [],
};

async function replicaFacts(configFile: string, config: ReplicaConfig): Promise<OwnFacts> {
  const { dataDir, archive, backup, postgres } = config;
  const { pgBin } = postgres;
  const place = (path: string | undefined) =>
    path === undefined
      ? Promise.resolve(null)
      : inTime(() => placeFacts(path)).then((found) =>
          found.ok ? found.value : unanswered(path, found.reason),
        );
  const [data, archivePlace, backupPlace, status] = await Promise.all([
    place(dataDir),
    place(archive?.directory),
    place(backup?.directory),
    statusFacts(config),
  ]);
  const [programs, syncMs, members, archiveFacts, backups] = await Promise.all([
    inTime(() => locateBinaries(pgBin === undefined ? {} : { pgBin })),
    data === null ? null : inTime(() => measureSync(data)),
    memberFacts(config, status),
    archive === undefined ? null : inTime(() => archiveIn(archive.directory)),
    backup === undefined ? null : inTime(() => backupsIn(backup.directory, config)),
  ]);
  return {
    secretModes: await orElse([], () => secretModes(configFile)),
    dataDir: data,
    isPostgresMounted: await orElse(false, () => isMountPoint(join(dataDir, 'postgres'))),
    archivePlace,
    backupPlace,
    programs,
    dataMajorVersion: await orElse(null, () => majorVersionIn(dataDir)),
    syncMs,
    status,
    members,
    openFilesMax: status.ok ? await openFilesMaxOf(status.value.pid) : null,
    archive: archiveFacts,
    backups,
    setAside: await orElse([], () => setAsideIn(dataDir)),
  };
}

function unanswered(path: string, reason: string) {
  const unknown = { mode: null, freeBytes: null, totalBytes: null, freeFiles: null, device: null };
  return { path, exists: false, accessProblem: reason, ...unknown, isInMemory: false };
}

function inTime<T>(work: () => Promise<T>): Promise<Known<T>> {
  const late = sleep(lookMs, null, { ref: false }).then(() => {
    throw new Error(`no answer within ${lookMs / 1000} s`);
  });
  return known(() => Promise.race([work(), late]));
}

async function orElse<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
  const found = await inTime(work);
  return found.ok ? found.value : otherwise;
}

/** The files that hold it: the configuration, or the one that it names. */
async function secretModes(configFile: string): Promise<DoctorFacts['secretModes']> {
  const text = await readFile(configFile, 'utf8').catch(() => '');
  const named = /["']?clusterSecretFile["']?\s*:\s*["']?([^"',}\n#]*)/.exec(text)?.[1]?.trim() ?? '';
  const path = named === '' ? configFile : resolve(dirname(resolve(configFile)), named);
  const found = await stat(path).catch(() => null);
  return found === null ? [] : [{ path, mode: found.mode & 0o777 }];
}

async function majorVersionIn(dataDir: string): Promise<number | null> {
  const text = await readFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), 'utf8').catch(() => '');
  const version = Number(text.trim());
  return Number.isInteger(version) && version > 0 ? version : null;
}

async function setAsideIn(dataDir: string): Promise<readonly string[]> {
  const names = await readdir(dataDir).catch(() => []);
  return names.filter((name) => name.startsWith('postgres.lost-')).map((name) => join(dataDir, name));
}

async function archiveIn(directory: string): Promise<ArchiveFacts> {
  const state = await readArchiveState(directory);
  if (state === null) throw new Error(`${basename(directory)} has no archive.json`);
  return { cluster: state.cluster, stretches: stretchesOf(await listSegments(directory), state) };
}

/** Of its group; not of the one from which it was restored. */
async function backupsIn(
  directory: string,
  { group, dataDir }: ReplicaConfig,
): Promise<readonly BackupFacts[]> {
  const cluster = await ownerOf(placesOf(dataDir)).catch(() => '');
  const found: BackupFacts[] = [];
  for (const name of (await readdir(directory)).filter((each) => each.endsWith('.barista'))) {
    const ends = await readBackupEnds(join(directory, name));
    if (ends === null || ends.header.group !== group) continue;
    if (cluster !== '' && ends.header.cluster !== cluster) continue;
    const { header, bytes } = ends;
    found.push({ name, takenAtMs: Date.parse(header.takenAt), end: header.position.end, bytes });
  }
  return found;
}

async function clockShift(): Promise<number> {
  const [wall, monotonic] = [Date.now(), performance.now()];
  await sleep(watchMs);
  return Date.now() - wall - (performance.now() - monotonic);
}

async function synchronized(): Promise<boolean | null> {
  const asked = await run('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
    timeout: 2000,
  }).catch(() => null);
  const said = asked?.stdout.trim();
  return said === 'yes' ? true : said === 'no' ? false : null;
}

async function sourceOfClock(): Promise<string | null> {
  const path = '/sys/devices/system/clocksource/clocksource0/current_clocksource';
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trim() === '' ? null : text.trim();
}
