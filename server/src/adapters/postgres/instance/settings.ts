/**
 * The configuration of a replica's PostgreSQL, made anew at each start.
 *
 * Responsible for: which settings safety rests on, what differs between a primary and a standby, and the files themselves. Configuration is entirely Barista's: what a client, an operator or a copy left there is
 * replaced. What safety rests on is not in the files but on the command line of the main process, where nothing that is written or read again while it runs can change it.
 */
import { join } from 'node:path';
import { sharedMemorySettings, socketPort } from '../data-directory.ts';
import { rename, rm, writeFile } from '../account-files.ts';
import type { LaunchUser } from '../launch-user.ts';
import { gateName } from '../replication/wal-source.ts';
import { leastSettings, raisedTo } from './standby-limits.ts';

/** `connectionInfo`: how the standby reaches its feed; it holds a password. `alone`: a primary whose commits wait for nobody, with settings of its own that nothing can change. */
export type InstanceRole =
  | { readonly kind: 'primary' }
  | { readonly kind: 'alone'; readonly fixed: Readonly<Record<string, string>> }
  | { readonly kind: 'standby'; readonly connectionInfo: string };

export interface SettingsOptions {
  readonly socketDir: string;
  readonly connectionsMax: number;
  readonly majorVersion: number;
  /** Further settings; none that `gateSettings` or `roleSettings` have. */
  readonly settings: Readonly<Record<string, string>>;
}

export async function writeSettings(
  user: LaunchUser,
  data: string,
  role: InstanceRole,
  options: SettingsOptions,
): Promise<void> {
  const memory = await sharedMemorySettings(user);
  const own = { ...baseSettings(options), ...memory, ...options.settings, ...roleSettings(role) };
  const settings = role.kind === 'standby' ? raisedTo(await leastSettings(data), own) : own;
  const files: Record<string, string> = {
    'postgresql.conf': settingsText(settings),
    'postgresql.auto.conf': '# Not used: postgresql.conf is written at each start.\n',
    // The socket's directory lets in nobody but the operator and the gateway, which has made sure who its client is, and refuses the user postgres.
    'pg_hba.conf': ['local replication postgres trust', 'local all         all      trust', ''].join('\n'),
    'pg_ident.conf': '',
    ...(role.kind === 'standby' ? { 'standby.signal': '' } : {}),
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name);
    await rm(`${path}.new`, { force: true });
    // Never through a link that somebody has put there.
    await writeFile(`${path}.new`, text, { mode: 0o600, flag: 'wx' });
    await rename(`${path}.new`, path);
  }
  const signals = role.kind === 'standby' ? ['recovery.signal'] : ['standby.signal', 'recovery.signal'];
  for (const name of signals) await rm(join(data, name), { force: true });
}

/** Of the lock table: a client takes several hundred in a millisecond, and a standby needs time to end its session before they are all taken (reader-locks.ts). 20 MB. */
const lockEntriesMin = 65_536;
/** Workers, walsenders and autovacuum have their share of it. */
const otherProcesses = 32;

/** Defaults, which `settings` of the configuration may change. */
function baseSettings({ connectionsMax }: SettingsOptions): Record<string, string> {
  return {
    max_connections: String(connectionsMax),
    superuser_reserved_connections: '8',
    max_prepared_transactions: String(connectionsMax),
    max_locks_per_transaction: String(
      Math.max(64, Math.ceil(lockEntriesMin / (2 * connectionsMax + otherProcesses))),
    ),
    password_encryption: 'scram-sha-256',
    shared_buffers: '128MB',
    huge_pages: 'off',
    max_wal_senders: '8',
    max_replication_slots: '8',
    // WAL that is not chosen yet is kept for as long as it takes, but must not fill the disk: beyond this the leader gives up.
    max_slot_wal_keep_size: '8GB',
    max_wal_size: '2GB',
    autovacuum: 'on',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    datestyle: 'iso, mdy',
    default_text_search_config: 'pg_catalog.english',
    log_parameter_max_length: '0',
    wal_retrieve_retry_interval: '100ms',
    // How long flushes take is told to the leader (checkup of database-server.ts).
    track_wal_io_timing: 'on',
  };
}

/** On the command line: what safety rests on. */
export function fixedSettings(
  role: InstanceRole,
  options: Pick<SettingsOptions, 'socketDir' | 'majorVersion'>,
): Record<string, string> {
  const gate = gateSettings(options);
  return role.kind === 'alone' ? { ...gate, synchronous_standby_names: '', ...role.fixed } : gate;
}

/** The same on every replica whose WAL travels, at every time: a promotion finds the gate shut. */
export function gateSettings({
  socketDir,
  majorVersion,
}: Pick<SettingsOptions, 'socketDir' | 'majorVersion'>): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    port: String(socketPort),
    fsync: 'on',
    full_page_writes: 'on',
    wal_level: 'replica',
    hot_standby: 'on',
    synchronous_commit: 'on',
    synchronous_standby_names: gateName,
    recovery_target_timeline: 'latest',
    // A backend that dies takes its main process along, and the replica decides what becomes of it: restarted by itself, PostgreSQL would show what was never chosen.
    restart_after_crash: 'off',
    // Read by the replica: the ends of waits (visibility.ts) and why a start failed (start-failure.ts).
    log_destination: 'stderr',
    logging_collector: 'off',
    log_min_messages: 'warning',
    // The end of a wait must be told in fewer bytes than a pipe takes at once, or others' messages may come between its pieces: without its context and statement, which clients choose. They get theirs all the same.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'error',
    lc_messages: 'C',
    log_line_prefix: '%m [%p] %e %q%u@%d ',
    ...(majorVersion >= 17 ? { allow_alter_system: 'off' } : {}),
  };
}

function roleSettings(role: InstanceRole): Record<string, string> {
  return role.kind === 'standby' ? { primary_conninfo: role.connectionInfo } : {};
}

function settingsText(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  return `# Written by Barista at each start: changes here are lost.\n${lines.join('\n')}\n`;
}
