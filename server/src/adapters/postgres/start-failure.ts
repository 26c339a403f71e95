/**
 * Why PostgreSQL did not start, from what it said while it was starting: damaged files, want of space or memory, or something else. Also why a standby ended: it goes on replaying as it begins, and meets damage late.
 *
 * Only the first kind is `databaseLost`, which has the database replaced. So what cannot be told for certain counts as something else, and is tried
 * again, but for a standby whose replay ends for the same reason again and again. Lines of clients are not looked at: a line begins with the SQLSTATE (log_line_prefix, data-directory.ts), and what a message
 * holds of line breaks PostgreSQL indents.
 */
import { lacksDirectory, damageIn, dataFile, sqlStateOf } from './database-error.ts';
import type { LaunchErrorCode } from './launch-error.ts';

export interface StartFailure {
  readonly code: LaunchErrorCode;
  /** In PostgreSQL's words; empty if it said nothing of why. */
  readonly reason: string;
}

/** For one reason, in a row: what ends the replay of the same files each time is in these files, or in what is replayed, and no further attempt helps. */
const GIVEN_UP_MAX = 3;

/** Counts how often the process that replays the WAL has given up for a reason that is not known as damage. */
export class ReplayFailures {
  private reason = '';
  private times = 0;

  /** To be told of each end that nobody asked for, once. */
  judge(failure: StartFailure): StartFailure {
    const isSame = failure.code === 'launchFailed' && failure.reason !== '' && failure.reason === this.reason;
    this.times = isSame ? this.times + 1 : 1;
    this.reason = failure.code === 'launchFailed' ? failure.reason : '';
    if (this.reason === '' || this.times < GIVEN_UP_MAX) return failure;
    // What comes in the place of these files begins anew.
    this.reason = '';
    return { code: 'databaseLost', reason: `${failure.reason} (${GIVEN_UP_MAX} times in a row)` };
  }
}

export interface StartObserver {
  /** A piece of PostgreSQL's log. */
  add(text: string): void;
  /** It has said that it is a standby: it replays WAL and waits for more. From then on only what ends that is looked at. */
  readonly isStandby: boolean;
  verdict(): StartFailure;
}

/** Of PostgreSQL's own processes and sessions of its superuser: time, time zone, pid, SQLSTATE; of a session also its user and database. */
const line = /^\S+ \S+ \S+ \[(\d+)\] ([0-9A-Z]{5}) (?:postgres@\S* )?(LOG|FATAL|PANIC):  (.*)$/;
/** The same of its own processes alone. */
export const ownLine = /^\S+ \S+ \S+ \[(\d+)\] ([0-9A-Z]{5}) (LOG|FATAL|PANIC):  (.*)$/;

const damaged = [
  /could not locate (?:a valid|required) checkpoint record/,
  /invalid (?:primary )?checkpoint (?:record|link)/,
  /could not find redo location/,
  /required WAL directory "[^"]*" does not exist/,
  /is not a valid data directory/,
  /(?:incorrect|invalid) checksum in control file/,
  /WAL contains references to invalid pages/,
  /WAL ends before (?:end of online backup|consistent recovery point)/,
  /invalid data in file "(?:backup_label|tablespace_map)"/,
  /could not access status of transaction/,
  /relation mapping file "[^"]*" contains (?:invalid data|incorrect checksum)/,
  /could not open critical system index/,
  /requested timeline \d+ (?:is not a child of this server's history|does not contain minimum recovery point)/,
  /catalog is missing \d+ attribute/,
];
const corrupted = /^XX00[12]$/;
/** It was told to end, or wants what only settings or rights give it. */
const notOfFiles = /^(?:57P0|22023|42501)/;
/** A setting is wrong, or names a library that cannot be loaded; its address is in use, or rights are missing. */
const ofSettings = /^(?:F0000|22023|42501|42704|55006)$/;
const ofLibraries = /^(?:58P01|38000|58030)$/;
/** What CREATE TABLESPACE names is looked for when that is replayed; files of the database itself are named below its directory. */
const noTablespace = /^directory "\/[^"]*" does not exist$/;
const full = /^53/;
const fileStates = /^(?:58P01|58030|42809)$/;
/** Of a start it tells of another version's directory; of a session, that the file which names the version of its database is damaged: it is not the server's, which runs. */
const otherVersion = /^database files are incompatible with server$/;
/** A crash of the process that replays the WAL, by itself (not from outside: SIGKILL is what the system sends for want of memory). */
const crashed = /^startup process \(PID \d+\) was terminated by signal (?:4|6|7|8|10|11)\b/;
const lineBytesMax = 4_096;
/** No such database, role or object, a log-in refused: these messages quote names, which clients choose. */
const quotesNames = /^(?:3D|28|42)/;
/** A database that lets nobody in. Of a start the same SQLSTATE tells of files. */
const quotesNamesToSessions = /^55/;

export function observeStart(): StartObserver {
  let rest = '';
  let lost: string | null = null;
  let crash: string | null = null;
  let outOfSpace: string | null = null;
  let givenUp: string | null = null;
  let refused: string | null = null;
  /** The process that replays the WAL, once it has said that this is a standby. */
  let replaying: string | null = null;

  const judge = (text: string): void => {
    const [, pid = '', sqlState = '', level = '', message = ''] = line.exec(text) ?? [];
    if (message === 'entering standby mode') replaying = pid;
    if (crashed.test(message)) crash ??= message;
    // A standby does not end with any other process.
    if (replaying !== null && pid !== replaying) return;
    if (full.test(sqlState)) outOfSpace ??= message;
    if (level !== 'FATAL' && level !== 'PANIC') return;
    const ofFiles = fileStates.test(sqlState) && dataFile.test(message);
    const isNamed = !quotesNames.test(sqlState) && damaged.some((pattern) => pattern.test(message));
    if (sqlState === '58P01' && noTablespace.test(message)) {
      refused ??= `${message}: make it on this machine, too, for the tablespace`;
      return;
    }
    if (corrupted.test(sqlState) || ofFiles || isNamed) lost ??= message;
    else if (ofSettings.test(sqlState) || (ofLibraries.test(sqlState) && replaying === null))
      refused ??= message;
    else if (pid === replaying && !notOfFiles.test(sqlState)) givenUp ??= message;
  };

  return {
    add(text) {
      const lines = (rest + text).split('\n');
      rest = (lines.pop() ?? '').slice(0, lineBytesMax);
      for (const one of lines) judge(one);
    },
    get isStandby() {
      return replaying !== null;
    },
    verdict() {
      judge(rest);
      // A full disk can make any file look short.
      if (outOfSpace !== null) return { code: 'databaseFull', reason: outOfSpace };
      const reason = lost ?? crash;
      if (reason !== null) return { code: 'databaseLost', reason };
      return refused === null
        ? { code: 'launchFailed', reason: givenUp ?? '' }
        : { code: 'launchRefused', reason: refused };
    },
  };
}

/** The same for what a connection of the replica itself was told, where no client's code runs. */
export function failureOf(error: unknown): StartFailure {
  const reason = error instanceof Error ? error.message : String(error);
  const sqlState = sqlStateOf(error);
  if (sqlState !== null && full.test(sqlState)) return { code: 'databaseFull', reason };
  const lost =
    damageIn(error) !== null ||
    lacksDirectory(error) ||
    otherVersion.test(reason) ||
    (sqlState !== null &&
      !quotesNames.test(sqlState) &&
      !quotesNamesToSessions.test(sqlState) &&
      damaged.some((pattern) => pattern.test(reason)));
  return { code: lost ? 'databaseLost' : 'launchFailed', reason };
}
