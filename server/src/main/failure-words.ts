/**
 * Failures in words, for the person who typed a command: what is wrong, what to do, and the exit code.
 *
 * Responsible for: telling failures that are to be expected from defects of Barista. Prints nothing.
 * Invariant: a defect keeps its stack; what is expected is shown without one.
 */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../config/config-error.ts';
import { LogStoreError } from '../ports/log-store.ts';
import { CliError, exitCodes, type ExitCode } from './errors.ts';
import { openFilesMax } from './open-files.ts';

export type FailureKind = 'expected' | 'defect';

/**
 * Every class of errors of the server, by its name (failure-words.test.ts compares them with the sources). `expected`: its message says what a person can act on. `defect`: it is told to
 * a peer or a client, or caught where it is thrown, or an invariant is broken.
 */
export const failureKinds: Readonly<Record<string, FailureKind>> = {
  ArchiveError: 'expected',
  BrokenMessage: 'defect',
  CertificateError: 'expected',
  CliError: 'expected',
  ConfigError: 'expected',
  ControlFileError: 'expected',
  CopyError: 'expected',
  DigestError: 'expected',
  DirectoryStateError: 'expected',
  ForeignSchemaError: 'expected',
  FrameError: 'defect',
  InvariantViolation: 'defect',
  JuteError: 'defect',
  LaunchError: 'expected',
  LeftOut: 'expected',
  LogStoreError: 'expected',
  MachineError: 'expected',
  NoRoomError: 'expected',
  OperationError: 'defect',
  PaxosInvariantViolation: 'defect',
  PrimaryInvariantViolation: 'defect',
  ProtocolViolation: 'defect',
  RunHeldError: 'defect',
  ScramRefusal: 'defect',
  SessionEndedError: 'defect',
  SqlError: 'defect',
  TarError: 'expected',
  TargetError: 'expected',
  TlsFileError: 'expected',
  UnreadableStart: 'defect',
  WalEntryError: 'defect',
  WalFormatError: 'defect',
  WalMissingError: 'expected',
  ZooKeeperError: 'expected',
};

export interface FailureWords {
  readonly kind: FailureKind;
  /** One line, unless the error has more to say. */
  readonly text: string;
  readonly exitCode: ExitCode;
}

export function wordsOf(error: unknown): FailureWords {
  const expected = (text: string, exitCode: ExitCode = exitCodes.failed): FailureWords => ({
    kind: 'expected',
    text,
    exitCode,
  });
  if (error instanceof CliError) return expected(error.message, error.exitCode);
  if (error instanceof ConfigError) return expected(error.message, exitCodes.usage);
  if (error instanceof LogStoreError && error.code === 'logLocked') {
    return expected(
      `${error.message}, which serves a replica from it. Stop that process first, or give this replica a dataDir of its own.`,
    );
  }
  if (!(error instanceof Error)) return { kind: 'defect', text: String(error), exitCode: exitCodes.failed };
  // The log's errors say which file; all others of ours say what to do, too.
  if (isExpected(error) && !(error instanceof LogStoreError)) return expected(error.message);
  const system = systemErrorIn(error);
  const why = system === null ? null : whyRefused(system);
  if (why !== null) return expected(why);
  if (system !== null || isExpected(error)) return expected(error.message);
  const text = `${error.stack ?? error.message}\nThis is a defect of Barista: please report it with these lines.`;
  return { kind: 'defect', text, exitCode: exitCodes.failed };
}

function isExpected(error: Error): boolean {
  // Used after it was closed.
  if (error instanceof LogStoreError && error.code === 'logClosed') return false;
  return failureKinds[error.constructor.name] === 'expected';
}

interface SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path?: string;
}

/** Causes of causes are looked at no further. */
const causesMax = 5;

/** What the operating system has refused, be it the cause of `error`; null: it is something else. */
function systemErrorIn(error: Error): SystemError | null {
  let at: unknown = error;
  for (let step = 0; step < causesMax && at instanceof Error; step += 1, at = at.cause)
    if (isSystemError(at)) return at;
  return null;
}

function isSystemError(error: Error): error is SystemError {
  return 'code' in error && 'syscall' in error && typeof error.code === 'string';
}

/** Null: there are no better words than the system's. */
function whyRefused({ code, path }: SystemError): string | null {
  switch (code) {
    case 'EMFILE':
      return `Too many open files: this process may have ${openFilesMax() ?? 'too few'} of them. Allow more: "ulimit -n 4096", or LimitNOFILE= in its systemd unit.`;
    case 'ENFILE':
      return 'Too many open files on this machine. Allow more (on Linux, sysctl fs.file-max), or end what opens them.';
    default:
      return path === undefined ? null : whyRefusedAt(path, code);
  }
}

function whyRefusedAt(place: string, code: string): string | null {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `Permission denied: ${place}. Give the user of this process the right to it, or start this as another user.`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${fileAbove(place)} is a file, and a directory is needed in its place. Move it away, or name another path.`;
    case 'EISDIR':
      return `${place} is a directory, and a file is needed in its place. Move it away, or name another path.`;
    case 'ENOENT':
      return `${place} does not exist. Make it, or name another path.`;
    case 'EROFS':
      return `${place} is on a file system that is mounted read-only. Mount it for writing, or name another path.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `No space is left for ${place}. Free some, and run this again.`;
    case 'EIO':
      return `The disk of ${place} fails (EIO). Look at the machine's log, and replace the disk if it says so.`;
    default:
      return null;
  }
}

/** Which part of a path is no directory. */
function fileAbove(path: string): string {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    if (isFile(at)) return at;
  }
  return path;
}

/** False, too, of what is below a file. */
function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}
