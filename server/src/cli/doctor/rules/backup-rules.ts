/** Backups, and the WAL that is kept for points in time. */
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import type { Rule } from '../facts.ts';
import { ageText, error, notice, sizeText, warning, when } from './words.ts';

const minuteMs = 60_000;

const noneAsked: Rule = ({ config }) => {
  if (!config.ok) return [];
  const { backup, archive } = config.value;
  return [
    ...when(backup === undefined, () =>
      notice(
        'This replica makes no scheduled backups.',
        'Have "backup" in the configuration of two members at least, unless something else runs "barista backup".',
      ),
    ),
    ...when(archive === undefined, () =>
      notice(
        'This replica archives no WAL: point-in-time recovery from it is impossible.',
        'Have "archive" in the configuration of one or two members.',
      ),
    ),
    ...when(backup !== undefined && backup.testEveryMinutes === 0, () =>
      notice(
        'Backups are not tested on a schedule.',
        'Set backup.testEveryMinutes, or run "barista backup verify" now and then.',
      ),
    ),
  ];
};

const tooOld: Rule = ({ config, backups, nowMs }) => {
  if (!config.ok || config.value.backup === undefined || backups?.ok !== true) return [];
  const everyMs = config.value.backup.everyMinutes * minuteMs;
  const newest = Math.max(...backups.value.map(({ takenAtMs }) => takenAtMs));
  if (backups.value.length === 0)
    return [
      error(
        'There is no backup.',
        'Take one now: "barista backup". The status says why none is made (backup.problem).',
      ),
    ];
  return when(nowMs - newest > 2 * everyMs, () =>
    error(
      `The newest backup is ${ageText(nowMs - newest)} old, and one is to be made every ${ageText(everyMs)}.`,
      'The status of each member that has "backup" says why none is made (backup.problem).',
    ),
  );
};

const unreadable: Rule = ({ backups, archive }) => [
  ...(backups === null || backups.ok
    ? []
    : [
        error(
          `The backups cannot be looked at: ${backups.reason}.`,
          'Mount backup.directory, and let the user of the replica read and write it.',
        ),
      ]),
  ...(archive === null || archive.ok
    ? []
    : [
        warning(
          `The archive of WAL cannot be looked at: ${archive.reason}.`,
          'If the replica has just been given one, it is made with the first WAL.',
        ),
      ]),
];

const failed: Rule = ({ status }) => {
  if (status?.ok !== true) return [];
  const { backup, archive } = status.value;
  return [
    ...when(backup?.problem != null, () =>
      error(
        `The last attempt to make a backup failed, ${backup?.problem ?? ''}.`,
        'It is retried automatically once that is fixed.',
      ),
    ),
    ...when(backup?.test?.ok === false, () =>
      error(
        `The restore test of ${backup?.test?.name ?? ''} failed: ${backup?.test?.message ?? ''}`,
        'Another backup is made and tested automatically. If that fails, too, take one from another member, and run "barista verify".',
      ),
    ),
    ...when(archive?.problem != null, () =>
      error(
        `WAL is not archived now: ${archive?.problem ?? ''}.`,
        'Fix that; then take a new backup if there was a gap (archive.gaps).',
      ),
    ),
    ...when((archive?.gaps ?? 0) > 0, () =>
      warning(
        `Since it was started, the replica could not archive some WAL (${archive?.gaps ?? 0} gaps).`,
        'Take a new backup: earlier ones cannot be restored to a point after the gap.',
      ),
    ),
  ];
};

/** WAL must follow the end of a backup without a gap. What lies before that end does not matter. */
const notConnected: Rule = ({ backups, archive }) => {
  if (backups?.ok !== true || archive?.ok !== true) return [];
  const { stretches } = archive.value;
  const [newest] = backups.value.toSorted((a, b) => b.end - a.end);
  const last = stretches.at(-1);
  if (newest === undefined || last === undefined) return [];
  const reaches = stretches.find(({ from, to }) => from <= newest.end && newest.end <= to);
  if (reaches === undefined && newest.end < last.to)
    return [
      error(
        `The archive does not have the WAL that follows the newest backup, ${newest.name}, from ${formatLsn(newest.end as Lsn)} on.`,
        'Take a new backup, and have archive.bytesMax be large enough for the time between two of them.',
      ),
    ];
  return when(reaches !== undefined && reaches.to < last.to, () =>
    error(
      `The archive has a gap at ${formatLsn((reaches?.to ?? 0) as Lsn)}, behind the newest backup, ${newest.name}.`,
      'Take a new backup: this one cannot be restored to a point after the gap.',
    ),
  );
};

const oldOnesAlone: Rule = ({ backups, archive }) => {
  if (backups?.ok !== true || archive?.ok !== true) return [];
  const from = archive.value.stretches.at(0)?.from ?? 0;
  const alone = backups.value.filter(({ end }) => end < from);
  return when(alone.length > 0 && alone.length < backups.value.length, () =>
    notice(
      `The archive begins behind ${alone.length} of ${backups.value.length} backups, which can be restored as they were at their ends only.`,
      'Raise archive.bytesMax if points in time between them are wanted.',
    ),
  );
};

const noSpaceForNext: Rule = ({ backups, backupPlace }) => {
  if (backups?.ok !== true || backupPlace?.freeBytes == null) return [];
  const [newest] = backups.value.toSorted((a, b) => b.takenAtMs - a.takenAtMs);
  const { freeBytes } = backupPlace;
  return when(newest !== undefined && freeBytes < 1.2 * newest.bytes, () =>
    error(
      `The newest backup has ${sizeText(newest?.bytes ?? 0)}, and ${sizeText(freeBytes)} are free in backup.directory: the next one will fail.`,
      'Make space there, or keep fewer (backup.keep): an old one is removed only when the new one is complete.',
    ),
  );
};

export const backupRules = {
  noneAsked,
  tooOld,
  unreadable,
  failed,
  notConnected,
  oldOnesAlone,
  noSpaceForNext,
};
