/** PostgreSQL's programs, the machine's clock, and the limits of the process. */
import type { Rule } from '../facts.ts';
import { error, notice, warning, when } from './words.ts';

const noPrograms: Rule = ({ programs }) =>
  programs === null || programs.ok
    ? []
    : [
        error(
          programs.reason,
          'Without PostgreSQL there is no replica: see postgres.pgBin in docs/configuration.md.',
        ),
      ];

const otherMajor: Rule = ({ programs, dataMajorVersion }) => {
  if (programs?.ok !== true || dataMajorVersion === null) return [];
  const { majorVersion, version } = programs.value;
  return when(majorVersion !== dataMajorVersion, () =>
    error(
      `The database in dataDir is of PostgreSQL ${dataMajorVersion}, and the programs are ${version}.`,
      `Name programs of PostgreSQL ${dataMajorVersion} in postgres.pgBin. A major version is changed by a dump and a new group (docs/operations.md).`,
    ),
  );
};

const notRestarted: Rule = ({ programs, status }) => {
  if (programs?.ok !== true || status?.ok !== true) return [];
  const running = status.value.postgres.version;
  const { version } = programs.value;
  return when(running !== null && running !== version, () =>
    notice(
      `PostgreSQL ${running ?? ''} runs, and ${version} is installed.`,
      'It is used when the replica is started again: one replica at a time, followers first (docs/operations.md, "Restart, and upgrade").',
    ),
  );
};

const clockSet: Rule = ({ clockShiftMs }) =>
  when(Math.abs(clockShiftMs) > 100, () =>
    warning(
      `The clock of this machine was set while this was looked up, by ${Math.round(clockShiftMs)} ms, or it runs at another rate than time does.`,
      'Have it kept by NTP, slowly and without jumps. Leases rest on rates that differ by less than timings.clockDriftMax; "restore --time" goes by what the clock says.',
    ),
  );

const clockFree: Rule = ({ isClockSynchronized }) =>
  when(isClockSynchronized === false, () =>
    warning(
      'The clock of this machine is not kept by NTP.',
      'Have chrony or systemd-timesyncd run: times in logs and "restore --time" go by it.',
    ),
  );

const coarseClock: Rule = ({ clockSource }) =>
  when(clockSource !== null && /jiffies/.test(clockSource), () =>
    warning(
      `The kernel tells the time by ${clockSource ?? ''}, which is coarse and may run at a wrong rate.`,
      'Leases rest on the rate of the clock: have the kernel use tsc, hpet or the clock of the hypervisor.',
    ),
  );

/** Each client is a connection here and one to PostgreSQL or the leader. */
const filesPerClient = 2;
const filesBesides = 500;

const fewFiles: Rule = ({ openFilesMax, config }) => {
  if (openFilesMax === null || !config.ok) return [];
  const wanted = config.value.bounds.clientsMax * filesPerClient + filesBesides;
  return when(openFilesMax < wanted, () =>
    warning(
      `The replica can open ${openFilesMax} files, but with bounds.clientsMax clients it needs about ${wanted}.`,
      'Raise the limit (systemd: LimitNOFILE=), or lower bounds.clientsMax.',
    ),
  );
};

/** Who asks may lack a right that the replica has; these fail for everybody. */
const failsForAll = /^(?:EROFS|EIO|ENOSPC|EDQUOT)\b/;

/** Not known is not right. */
const syncUnknown: Rule = ({ syncMs }) => {
  if (syncMs === null || syncMs.ok) return [];
  const { reason } = syncMs;
  return [
    failsForAll.test(reason)
      ? error(
          `A file could not be written and synced in dataDir: ${reason}.`,
          'A replica cannot run there: check the mount options, the free space, and the disk.',
        )
      : notice(
          `How fast the disk of dataDir is was not measured: ${reason}.`,
          'Nothing, unless it seems slow.',
        ),
  ];
};

export const programRules = {
  noPrograms,
  otherMajor,
  notRestarted,
  clockSet,
  clockFree,
  coarseClock,
  fewFiles,
  syncUnknown,
};
