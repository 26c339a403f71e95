/** `barista fault`: what people can do to a running demo. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { forced, type FaultRequest } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { delayMsMax } from '../adapters/ws-transport/link-faults.ts';
import { exitCodesText, type Target, type TargetOptions, targetOf, withTarget } from './program-options.ts';

export interface FaultCommands {
  readonly fault: (target: Target, request: FaultRequest) => Promise<void>;
  /** Heals the links, and has every replica run. */
  readonly healAll: (target: Target) => Promise<void>;
}

const replicaActions = [
  ['resume', 'resume', 'thaw it'],
  ['restart', 'restart', 'stop its process if it runs, and start it again'],
  ['kill-postgres', 'killPostgres', 'kill -9 of its PostgreSQL alone'],
  ['isolate', 'isolate', 'cut every link to and from it'],
] as const;

const harms = [
  ['crash', 'kill -9 of its process; it stays down until "restart"'],
  ['pause', 'freeze its process (SIGSTOP)'],
] as const;

const force = ['--force', 'do it even if no majority of the replicas remains'] as const;

const share = 'share of the messages, 0 to 1; 0 ends it';
const amountActions = [
  ['delay', 'deliver late', 'ms', `milliseconds, 0 to ${delayMsMax}; 0 ends it`, delayMsMax],
  ['drop', 'lose some messages', 'share', share, 1],
  ['duplicate', 'deliver some messages twice', 'share', share, 1],
] as const;

export function addFault(program: Command, commands: FaultCommands): void {
  const fault = program
    .command('fault')
    .description('inject faults into a running demo, and heal them')
    .addHelpText(
      'after',
      `
Examples:
  barista fault crash r1            then: barista fault restart r1
  barista fault wipe r2             what a lost disk does; then watch: barista status
  barista fault cut r1 r2           what r1 sends to r2 is lost; r2 still reaches r1
  barista fault delay r1 r3 500     half a second later
  barista fault isolate r2          then: barista fault heal

To crash, freeze or wipe so many that no majority is left takes --force.
${exitCodesText}`,
    );
  for (const [name, action, description] of replicaActions) {
    withTarget(fault.command(name).description(description))
      .argument('<replica>', 'such as r1')
      .action((replica: string, options: TargetOptions) =>
        commands.fault(targetOf(options), { action, replica: replica as ReplicaId }),
      );
  }
  for (const [action, description] of harms) {
    withTarget(fault.command(action).description(description))
      .argument('<replica>', 'such as r1')
      .option(...force)
      .action((replica: string, { force: isForced, ...options }: ForceOptions) => {
        const request = { action, replica: replica as ReplicaId };
        return commands.fault(targetOf(options), isForced === true ? forced(request) : request);
      });
  }
  addWipe(fault, commands);
  linkCommand(fault, 'cut', 'lose every message')
    .addArgument(new Argument('[amount]', '0 mends the link; 1 cuts it, as none does').argParser(cutAmount))
    .action((from: string, to: string, amount: number | undefined, options: TargetOptions) => {
      const link = { action: 'cut', from: from as ReplicaId, to: to as ReplicaId } as const;
      return commands.fault(targetOf(options), amount === undefined ? link : { ...link, amount });
    });
  for (const [action, description, name, amountText, max] of amountActions) {
    linkCommand(fault, action, description)
      .addArgument(new Argument(`<${name}>`, amountText).argParser(amountUpTo(max)))
      .action((from: string, to: string, amount: number, options: TargetOptions) =>
        commands.fault(targetOf(options), { action, from: from as ReplicaId, to: to as ReplicaId, amount }),
      );
  }
  withTarget(
    fault.command('heal').description('take all faults off all links, and say which replicas do not run'),
  )
    .option('--all', 'make everything whole: also resume and restart the replicas that do not run')
    .action(({ all, ...options }: HealOptions) =>
      all === true
        ? commands.healAll(targetOf(options))
        : commands.fault(targetOf(options), { action: 'heal' }),
    );
}

interface HealOptions extends TargetOptions {
  readonly all?: boolean;
}

/** Its usage is shown with what is wrong: nobody knows by heart what comes third. */
function linkCommand(fault: Command, action: string, description: string): Command {
  return withTarget(fault.command(action).description(`${description}, from one replica to another`))
    .showHelpAfterError()
    .argument('<from>', 'the replica that sends')
    .argument('<to>', 'the replica that should receive');
}

interface ForceOptions extends TargetOptions {
  readonly force?: boolean;
}

interface WipeOptions extends ForceOptions {
  readonly log?: boolean;
  readonly database?: boolean;
}

function addWipe(fault: Command, commands: FaultCommands): void {
  withTarget(
    fault.command('wipe').description('lose its disk: kill -9 of it and its PostgreSQL, remove, start'),
  )
    .argument('<replica>', 'such as r1')
    .addOption(new Option('--log', 'only its log: what it has promised and voted').conflicts('database'))
    .addOption(new Option('--database', 'only its PostgreSQL').conflicts('log'))
    .option(...force)
    .addHelpText(
      'after',
      `
It comes back by itself while the others serve: as another incarnation if its log is gone, with a copy of another replica's database if its own is.
A replica that was wiped counts as away until it has recovered. Without --force a wipe beyond a minority of the voters is refused: a majority is data loss.`,
    )
    .action((replica: string, { log, database, force: isForced, ...options }: WipeOptions) => {
      const what = log === true ? 'log' : database === true ? 'database' : 'both';
      const request = { action: 'wipe', replica: replica as ReplicaId, what } as const;
      return commands.fault(targetOf(options), isForced === true ? forced(request) : request);
    });
}

const amountUpTo =
  (max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= 0 && value <= max))
      throw new InvalidArgumentError(`It must be a number from 0 to ${max}.`);
    return value;
  };

const cutAmount = (text: string): number => {
  if (text !== '0' && text !== '1') throw new InvalidArgumentError('It must be 0 or 1.');
  return Number(text);
};
