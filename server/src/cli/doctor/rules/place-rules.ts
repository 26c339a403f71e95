/** Directories, and the disks that they are on. */
import type { DoctorFacts, Finding, PlaceFacts, Rule } from '../facts.ts';
import { error, GIB, notice, sizeText, warning, when } from './words.ts';

interface Place {
  readonly key: string;
  readonly place: PlaceFacts;
}

function placesOf({ dataDir, archivePlace, backupPlace }: DoctorFacts): readonly Place[] {
  const named = [
    { key: 'dataDir', place: dataDir },
    { key: 'archive.directory', place: archivePlace },
    { key: 'backup.directory', place: backupPlace },
  ];
  return named.flatMap(({ key, place }) => (place === null ? [] : [{ key, place }]));
}

const each =
  (judge: (place: Place, facts: DoctorFacts) => readonly Finding[]): Rule =>
  (facts) =>
    placesOf(facts).flatMap((place) => judge(place, facts));

const unusable = each(({ key, place: { path, accessProblem } }) =>
  accessProblem === null
    ? []
    : [
        error(
          `${key} (${path}) cannot be used: ${accessProblem}.`,
          'Run this as the user who runs the replica, and give that one the directory (chown), or mount what is to be there.',
        ),
      ],
);

const openToOthers = each(({ key, place: { path, mode } }) =>
  when(mode !== null && (mode & 0o022) !== 0, () =>
    warning(`Others than its owner may write to ${key} (${path}).`, `chmod go-w ${path}`),
  ),
);

const inMemory = each(({ key, place: { path, isInMemory } }) =>
  when(isInMemory, () =>
    error(`${key} (${path}) is in memory, and what is in it gone when the machine is.`, 'Put it on a disk.'),
  ),
);

/** What PostgreSQL and the log may take before anything holds clients up: docs/operations.md, "Pressure of WAL". */
const walKeptBytes = 10 * GIB;
const leastBytes = 1 * GIB;

const nearlyFull = each(({ key, place: { path, freeBytes, totalBytes } }) => {
  if (freeBytes === null || totalBytes === null) return [];
  const free = `${sizeText(freeBytes)} of ${sizeText(totalBytes)} are free on the disk of ${key} (${path})`;
  const todo =
    key === 'dataDir'
      ? 'Make space: a replica whose log cannot be written does not vote, and a PostgreSQL without space stops.'
      : 'Make space, or keep less (archive.bytesMax, backup.keep).';
  if (freeBytes < Math.min(leastBytes, totalBytes / 20)) return [error(`Only ${free}.`, todo)];
  return when(freeBytes < totalBytes / 10, () => warning(`Only ${free}.`, todo));
});

const belowBounds: Rule = ({ config, dataDir, status }) => {
  const freeBytes = dataDir?.freeBytes ?? null;
  if (!config.ok || freeBytes === null) return [];
  const logBytes = status?.ok === true ? status.value.log.bytes : 0;
  const wanted = Math.max(0, config.value.bounds.logBytesMax - logBytes) + walKeptBytes;
  return when(freeBytes < wanted, () =>
    notice(
      `${sizeText(freeBytes)} are free for dataDir, and while a member is away, or nobody votes, up to ${sizeText(wanted)} may be needed: the log (bounds.logBytesMax), and WAL that is kept (max_slot_wal_keep_size and max_wal_size).`,
      'Have more space, or lower these bounds.',
    ),
  );
};

const noFilesLeft = each(({ key, place: { path, freeFiles } }) =>
  when(freeFiles !== null && freeFiles < 1000, () =>
    error(
      `The disk of ${key} (${path}) has room for ${freeFiles ?? 0} more files only.`,
      'Remove small files there, or make its file system anew with more inodes.',
    ),
  ),
);

const mountedAtPostgres: Rule = ({ isPostgresMounted, dataDir }) =>
  when(isPostgresMounted, () =>
    error(
      `A file system is mounted at ${dataDir?.path ?? 'dataDir'}/postgres, which cannot be renamed: no copy could take the place of a database that is lost.`,
      'Mount it at dataDir, or above it.',
    ),
  );

const sameDisk: Rule = ({ dataDir, archivePlace, backupPlace }) => {
  const device = dataDir?.device ?? null;
  const same = [
    { key: 'archive.directory', place: archivePlace },
    { key: 'backup.directory', place: backupPlace },
  ].filter(({ place }) => device !== null && place?.device === device);
  return same.map(({ key }) =>
    warning(
      `${key} is on the same disk as dataDir: whoever loses the one loses the other.`,
      'Have it on another disk, best on one of another machine.',
    ),
  );
};

const setAsideThere: Rule = ({ setAside }) =>
  when(setAside.length > 0, () =>
    notice(
      `Databases that were set aside take space: ${setAside.join(', ')}.`,
      'When you know why they were (the log says so), they may be deleted.',
    ),
  );

const slowMs = 20;
const tooSlowMs = 100;
/** No disk, and no memory behind a battery, has written a page so soon. */
const tooFastMs = 0.02;

const syncSpeed: Rule = ({ syncMs, dataDir }) => {
  if (syncMs === null || !syncMs.ok || syncMs.value.length === 0) return [];
  const sorted = syncMs.value.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  const most = sorted.at(-1)!;
  const figures = `${middle.toFixed(2)} ms for a page to be durable, and ${most.toFixed(1)} ms at most, of ${sorted.length}`;
  if (middle > tooSlowMs)
    return [
      error(
        `The disk of dataDir takes ${figures}.`,
        'Each commit waits for that. Find out what else uses it, or have another one.',
      ),
    ];
  if (middle > slowMs || most > 10 * tooSlowMs)
    return [
      warning(
        `The disk of dataDir takes ${figures}.`,
        'Each commit waits for that, and long ones look like dead leaders (timings.electionTimeoutMinMs).',
      ),
    ];
  return when(middle < tooFastMs && dataDir?.isInMemory !== true, () =>
    warning(
      `The disk of dataDir takes ${figures}, which is sooner than a disk can.`,
      'Make sure that it keeps what it said it wrote: a power cut must not empty a cache (virtual disks, "nobarrier", controllers without a battery).',
    ),
  );
};

export const placeRules = {
  unusable,
  openToOthers,
  inMemory,
  nearlyFull,
  belowBounds,
  noFilesLeft,
  mountedAtPostgres,
  sameDisk,
  setAsideThere,
  syncSpeed,
};
