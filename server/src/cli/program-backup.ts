/** What operators can type about backups: take one, list and test those that there are, restore one. */
import { type Command, Option } from 'commander';
import type { RestoreTarget } from '../adapters/postgres/backup/recovery.ts';
import type { RestoreFrom } from '../main/found-replica.ts';
import type { Lsn } from '../wal/lsn.ts';
import {
  exitCodesText,
  path,
  userOption,
  type Where,
  type WhereOptions,
  whereOf,
  withWhere,
} from './program-options.ts';
import { labelOf, positionOf, timeOf } from './restore-target.ts';

export interface VerifyBackupArguments {
  /** A file, or a directory, of which the newest one is meant; null: that of the configuration. */
  readonly file: string | null;
  /** Null: it is not needed, or `archive` and `pgBin` say what it would say. */
  readonly configFile: string | null;
  readonly archive: string | null;
  readonly pgBin: string | null;
  /** Where it is restored; null: beside the backup. */
  readonly workDirectory: string | null;
}

export interface BackupCommands {
  readonly backup: (where: Where, file: string, replace: boolean) => Promise<void>;
  readonly listBackups: (directory: string | null, configFile: string | null, json: boolean) => Promise<void>;
  readonly verifyBackup: (args: VerifyBackupArguments) => Promise<void>;
  readonly restore: (configFile: string, from: RestoreFrom) => Promise<void>;
}

const configOption = (why: string): Option =>
  new Option('--config <file>', `the configuration of a replica, ${why}`).argParser(path);

export function addBackups(program: Command, commands: BackupCommands): void {
  const backup = program
    .command('backup')
    .description('back up the whole group into one file while it serves; list and test backups')
    .addHelpText(
      'after',
      `
Examples:
  barista backup monday.barista --config r2.yaml     a follower is the better one to ask: the leader has clients to serve
  barista backup list --config r2.yaml               those that are made on a schedule ("backup" in the configuration)
  barista backup verify --config r2.yaml             restores the newest of them into a directory of its own, and checks all of it
  barista restore monday.barista --config new.yaml
${exitCodesText}`,
    );
  addTake(backup, commands);
  addList(backup, commands);
  addVerifyBackup(backup, commands);
  addRestore(program, commands);
}

function addTake(backup: Command, commands: BackupCommands): void {
  withWhere(
    backup.command('take', { isDefault: true }).description('one file, now (the word may be left out)'),
  )
    .argument('<file>', 'it has this name only when it is complete and was checked', path)
    .option('--replace', 'if the file exists', false)
    .action((file: string, { replace, ...options }: WhereOptions & { readonly replace: boolean }) =>
      commands.backup(whereOf(options), file, replace),
    );
}

function addList(backup: Command, commands: BackupCommands): void {
  backup
    .command('list')
    .description('the backups in a directory, the newest first, with what tests of them have found')
    .argument('[directory]', 'that of the configuration if it is left out', path)
    .addOption(configOption('whose "backup.directory" is meant'))
    .option('--json', 'for programs: [{ file, group, cluster, takenAt, ... }]', false)
    .action(
      (
        directory: string | undefined,
        { config, json }: { readonly config?: string; readonly json: boolean },
        command: Command,
      ) => {
        if ((directory === undefined) === (config === undefined))
          return command.error('error: give a directory, or --config with the configuration that names one');
        return commands.listBackups(directory ?? null, config ?? null, json);
      },
    );
}

interface VerifyOptions {
  readonly config?: string;
  readonly archive?: string;
  readonly pgBin?: string;
  readonly workDirectory?: string;
}

function addVerifyBackup(backup: Command, commands: BackupCommands): void {
  backup
    .command('verify')
    .description(
      'a restore test: unpacks a backup in a directory of its own, replays the archive, looks through it, removes it',
    )
    .argument('[file]', 'a backup, or a directory of them, of which the newest is tested', path)
    .addOption(configOption('for its backup.directory, archive.directory and postgres.pgBin'))
    .option('--archive <directory>', 'WAL that a replica has kept, replayed to its end', path)
    .option(
      '--pg-bin <dir>',
      "directory of an installed PostgreSQL's programs, instead of the embedded one",
      path,
    )
    .addOption(userOption())
    .option(
      '--work-directory <dir>',
      'where there is space for the whole database (default: beside the backup)',
      path,
    )
    .addHelpText(
      'after',
      `
Checked are: the file's checksum, that PostgreSQL replays it and all WAL of the archive behind it, the checksums of all pages, and with amcheck that tables are sound and
agree with their indexes. No replica is asked, and nothing that is there is changed. Exit code 1 if it cannot be restored or something is wrong in it, 4 if that
could not be tried (no space, say).

Example:
  barista backup verify monday.barista --archive /backup/wal
${exitCodesText}`,
    )
    .action(
      (
        file: string | undefined,
        { config, archive, pgBin, workDirectory }: VerifyOptions,
        command: Command,
      ) => {
        if (file === undefined && config === undefined)
          return command.error(
            'error: give a backup, or --config with the configuration that names their directory',
          );
        return commands.verifyBackup({
          file: file ?? null,
          configFile: config ?? null,
          archive: archive ?? null,
          pgBin: pgBin ?? null,
          workDirectory: workDirectory ?? null,
        });
      },
    );
}

interface RestoreOptions {
  readonly config: string;
  readonly archive?: string;
  readonly time?: Extract<RestoreTarget, { kind: 'time' }>;
  readonly position?: Lsn;
  readonly label?: string;
}

function addRestore(program: Command, commands: BackupCommands): void {
  program
    .command('restore')
    .description('create a new group from a backup: on ONE replica, before its first start')
    .argument('<file>', 'a backup, or a directory of them, of which the nearest is taken', path)
    .requiredOption('--config <file>', 'the configuration of the replica, in YAML', path)
    .addOption(userOption())
    .option(
      '--archive <directory>',
      'WAL that a replica has kept since the backup ("archive" in its configuration)',
      path,
    )
    .addOption(
      new Option(
        '--time <time>',
        'up to the last transaction that was committed by then, such as 2026-05-04T10:30:00Z',
      )
        .argParser(timeOf)
        .conflicts(['position', 'label']),
    )
    .addOption(
      new Option('--position <lsn>', 'up to this position in the WAL, such as 0/3000060')
        .argParser(positionOf)
        .conflicts('label'),
    )
    .addOption(
      new Option('--label <name>', 'up to where pg_create_restore_point was called with this name').argParser(
        labelOf,
      ),
    )
    .addHelpText(
      'after',
      `
Examples:
  barista restore monday.barista --config new.yaml                                       as the backup was at its end
  barista restore monday.barista --config new.yaml --archive /wal                        and all that was archived since
  barista restore /backup --config new.yaml --archive /wal --time 2026-05-04T10:30:00Z   the nearest backup of a directory
  barista restore /backup --config new.yaml --archive /wal --label before-the-migration

The data directory must be empty. The other "peers" of the configuration join when they are started, with empty data directories, as after "barista init".
${exitCodesText}`,
    )
    .action((file: string, { config, archive, ...options }: RestoreOptions) =>
      commands.restore(config, { file, archive: archive ?? null, target: targetOf(options) }),
    );
}

function targetOf({
  time,
  position,
  label,
}: Pick<RestoreOptions, 'time' | 'position' | 'label'>): RestoreTarget {
  if (time !== undefined) return time;
  if (position !== undefined) return { kind: 'position', at: position };
  return label === undefined ? { kind: 'end' } : { kind: 'label', name: label };
}
