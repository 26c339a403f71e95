/** What operators can type: found a group, change and compare its members, and have a replica looked at. */
import { type Command, InvalidArgumentError } from 'commander';
import type { MemberAddress } from '../multipaxos/types/members.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { hostWords, isHost } from '../shapes/host.ts';
import {
  exitCodesText,
  path,
  port,
  type Where,
  type WhereOptions,
  whereOf,
  whole,
  withWhere,
} from './program-options.ts';

export type MembersAction =
  | { readonly action: 'list'; readonly json: boolean }
  | { readonly action: 'add'; readonly replica: ReplicaId; readonly address: MemberAddress }
  | { readonly action: 'remove'; readonly replica: ReplicaId }
  /** Adds `replica`, waits until it votes, removes `old`. */
  | {
      readonly action: 'replace';
      readonly old: ReplicaId;
      readonly replica: ReplicaId;
      readonly address: MemberAddress;
      readonly waitMinutes: number;
    };

export interface VerifyArguments {
  readonly repair: boolean;
  readonly json: boolean;
}

export interface TransferArguments {
  readonly to: ReplicaId | null;
  readonly transactionMs: number;
}

export interface AdminCommands {
  /** `cluster` null: it is drawn. */
  readonly init: (configFile: string, cluster: string | null) => Promise<void>;
  /** Unless `sure`, only shows what it would be founded on. */
  readonly initOnDatabase: (configFile: string, sure: boolean) => Promise<void>;
  readonly members: (where: Where, action: MembersAction) => Promise<void>;
  readonly verify: (where: Where, args: VerifyArguments) => Promise<void>;
  readonly doctor: (configFile: string, json: boolean) => Promise<void>;
  readonly transferLeadership: (where: Where, args: TransferArguments) => Promise<void>;
  readonly endSession: (where: Where, pid: number) => Promise<void>;
}

export function addAdmin(program: Command, commands: AdminCommands): void {
  addInit(program, commands);
  addMembers(program, commands);
  addLeader(program, commands);
  addSessions(program, commands);
  addVerify(program, commands);
  addDoctor(program, commands);
}

interface InitOptions {
  readonly config: string;
  readonly cluster?: string;
  readonly keepDatabase: boolean;
  readonly yes: boolean;
}

function addInit(program: Command, commands: AdminCommands): void {
  program
    .command('init')
    .description('create a group: run it once, on ONE replica, before its first start')
    .requiredOption('--config <file>', 'its configuration, in YAML', path)
    .option(
      '--cluster <name>',
      'with protocol: paxos or primary, for each further member: the name of the cluster that init told for the first one',
    )
    .option(
      '--keep-database',
      'on the database that is there, its log being lost; shows how far its data goes',
      false,
    )
    .option('--yes', 'with --keep-database: not only show it', false)
    .addHelpText(
      'after',
      `
Only this replica votes at first. The other "peers" of its configuration are expected: start them with "barista serve", and each
joins by itself, gets what is there, and becomes a voter. Never do this for a replica that lost its disk: it joins by itself, too.

--keep-database is for a group that has lost the logs of a majority for good, such as all of them with a ZooKeeper, and still has databases:
what was acknowledged and is not in the database that it is founded on is lost. What it has beyond what was chosen is kept.

Examples:
  barista init --config r1.yaml && barista serve --config r1.yaml     on the first host
  barista serve --config r2.yaml                                      on each of the others
${exitCodesText}`,
    )
    .action(({ config, cluster, keepDatabase, yes }: InitOptions, command: Command) => {
      if (keepDatabase) return commands.initOnDatabase(config, yes);
      if (yes) command.error('error: --yes is for --keep-database');
      return commands.init(config, cluster ?? null);
    });
}

interface AddressOptions {
  readonly host: string;
  readonly port: number;
  readonly pgwireHost?: string;
  readonly pgwirePort: number;
}

function withAddress(command: Command): Command {
  return command
    .requiredOption('--host <host>', 'where the others reach its peerListen', host)
    .requiredOption('--port <port>', 'the port of it', port)
    .option('--pgwire-host <host>', 'where SQL clients are sent while it leads (default: --host)', host)
    .requiredOption('--pgwire-port <port>', 'the port of it', port);
}

const addressOf = (options: AddressOptions): MemberAddress => ({
  host: options.host,
  port: options.port,
  pgwire: { host: options.pgwireHost ?? options.host, port: options.pgwirePort },
});

const host = (text: string): string => {
  if (!isHost(text)) throw new InvalidArgumentError(`It must be ${hostWords}.`);
  return text;
};

const replicaName = (text: string): ReplicaId => {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(text)) {
    throw new InvalidArgumentError(
      'It must start with a letter and hold at most 32 letters, digits, "_" or "-".',
    );
  }
  return text as ReplicaId;
};

function addMembers(program: Command, commands: AdminCommands): void {
  const members = program
    .command('members')
    .description('show, add, remove and replace members while the group serves')
    .addHelpText(
      'after',
      `
Examples:
  barista members list --config r1.yaml
  barista members add r4 --host 10.0.0.4 --port 7532 --pgwire-port 7432 --config r1.yaml
  barista members remove r3 --config r1.yaml
  barista members replace r3 r4 --host 10.0.0.4 --port 7532 --pgwire-port 7432 --config r1.yaml

Without --config it speaks to a demo that runs here. Changes are the leader's to make: another replica says whom to ask.
${exitCodesText}`,
    );
  withWhere(members.command('list', { isDefault: true }).description('the members as the replica knows them'))
    .option('--json', 'for programs: { version, members: [...] }', false)
    .action(({ json, ...options }: WhereOptions & { readonly json: boolean }) =>
      commands.members(whereOf(options), { action: 'list', json }),
    );
  withWhere(withAddress(members.command('add').description('expect a new replica: start it, and it joins')))
    .argument('<replica>', 'its id, not one of a member', replicaName)
    .action((replica: ReplicaId, options: AddressOptions & WhereOptions) =>
      commands.members(whereOf(options), { action: 'add', replica, address: addressOf(options) }),
    );
  withWhere(members.command('remove').description('take a replica away, running or not'))
    .argument('<replica>', 'such as r3', replicaName)
    .action((replica: ReplicaId, options: WhereOptions) =>
      commands.members(whereOf(options), { action: 'remove', replica }),
    );
  addReplace(members, commands);
}

function addReplace(members: Command, commands: AdminCommands): void {
  withWhere(
    withAddress(
      members
        .command('replace')
        .description('a new replica for an old one: added first, the old removed last'),
    ),
  )
    .argument('<old>', 'who goes, running or not', replicaName)
    .argument('<new>', 'the id of who comes', replicaName)
    .option('--wait <minutes>', 'how long to wait until the new one votes', whole(1, 1440), 60)
    .addHelpText(
      'after',
      `
Start the new replica ("barista serve") when told to. If the wait ends before it votes, nothing was removed: the same command goes on from there.
A lost disk needs no replacing: start the replica again, and it joins by itself.`,
    )
    .action(
      (
        old: ReplicaId,
        replica: ReplicaId,
        options: AddressOptions & WhereOptions & { readonly wait: number },
      ) =>
        commands.members(whereOf(options), {
          action: 'replace',
          old,
          replica,
          address: addressOf(options),
          waitMinutes: options.wait,
        }),
    );
}

function addLeader(program: Command, commands: AdminCommands): void {
  const leader = program.command('leader').description('show or change which replica leads');
  withWhere(
    leader
      .command('transfer')
      .description('hand leadership over to another replica, in a fraction of a second'),
  )
    .option('--to <replica>', 'such as r2 (default: the most up-to-date follower)', replicaName)
    .option('--wait-ms <ms>', 'how long open transactions may continue', whole(0, 60_000), 1000)
    .addHelpText(
      'after',
      `
The leader lets no new client in, has what is under way end, and resigns when all that its PostgreSQL has written is chosen. What is open longer is cut off, and
rolled back. Clients are told to reconnect (57P01); one that connects meanwhile waits. If nobody is ready to lead, nothing happens but that it says why.
It is over when the next leader serves clients. One that is elected and does not serve within 10 s is named, with a reason, and the exit code is not 0.

Examples:
  barista leader transfer                             in a demo that runs here
  barista leader transfer --to r2 --config r1.yaml    ask r1, which leads
${exitCodesText}`,
    )
    .action(
      ({ to, waitMs, ...options }: WhereOptions & { readonly to?: ReplicaId; readonly waitMs: number }) =>
        commands.transferLeadership(whereOf(options), { to: to ?? null, transactionMs: waitMs }),
    );
}

function addSessions(program: Command, commands: AdminCommands): void {
  const sessions = program.command('sessions').description("sessions of clients at a replica's PostgreSQL");
  withWhere(
    sessions
      .command('end')
      .description(
        "end one, whatever it holds; its process id is in 'barista status --json' (held) and doctor",
      )
      .argument('<pid>', "of PostgreSQL's process", whole(1, 2_147_483_647)),
  )
    .addHelpText(
      'after',
      `
For a session that holds so many locks that nobody can log in any more, or that nobody knows the end of. Its transaction is rolled back.
A prepared transaction has no session: ROLLBACK PREPARED 'name' ends it, or COMMIT PREPARED.

Examples:
  barista sessions end 4711                     at the leader of a demo that runs here
  barista sessions end 4711 --config r1.yaml    at r1
${exitCodesText}`,
    )
    .action((pid: number, options: WhereOptions) => commands.endSession(whereOf(options), pid));
}

function addVerify(program: Command, commands: AdminCommands): void {
  withWhere(
    program.command('verify').description("compare all replicas' data as of one slot, while they serve"),
  )
    .option('--repair', 'restore what differs from the majority', false)
    .option('--json', 'for programs: { slot, replicas: [{ replica, outcome, detail }] }', false)
    .addHelpText(
      'after',
      `
All tables, large objects and catalogs of all databases are compared, and between standbys where sequences stand. A replica that differs from the
majority serves and leads no more ("diverged"); with --repair it takes a copy of another one's database. Exit code 5 if any differs, 1 if one gave no report.
${exitCodesText}`,
    )
    .action(({ repair, json, ...options }: WhereOptions & VerifyArguments) =>
      commands.verify(whereOf(options), { repair, json }),
    );
}

function addDoctor(program: Command, commands: AdminCommands): void {
  program
    .command('doctor')
    .description('find problems of a replica on its own machine, and say how to fix them')
    .requiredOption('--config <file>', 'its configuration, in YAML', path)
    .option('--json', 'for programs: { verdict, findings: [{ severity, what, todo }] }', false)
    .addHelpText(
      'after',
      `
Looks at the configuration, directories and disks, PostgreSQL, the clock, the replica's own word, its members, backups and the archive. Changes nothing, but for a file that
it writes in dataDir to see how fast the disk is, and removes. The replica need not run.

Exit codes: 0 nothing but notices; 1 warnings, of what will break; 2 errors, of what does not work.`,
    )
    .action(({ config, json }: { readonly config: string; readonly json: boolean }) =>
      commands.doctor(config, json),
    );
}
