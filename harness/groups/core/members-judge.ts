/**
 * Judges the members: which configurations are chosen, who votes where, and whether elections and logs respect it.
 *
 * Knows only what is durable, and trusts no replica.
 */
import { ballotLabel, compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import { nameOf, votersDiffering, votersOf } from '../../../server/src/multipaxos/configuration.ts';
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import type { CoreFault } from './core-rule.ts';

interface ChosenConfiguration {
  readonly configuration: Configuration;
  readonly voters: readonly ReplicaId[];
  /** The lowest ballot in which it is known to be chosen; null: founded. */
  readonly ballot: Ballot | null;
}

export class MembersJudge {
  private readonly fault: CoreFault;
  /** By version, from the founding on. */
  private readonly chain: ChosenConfiguration[] = [];
  private readonly lives = new Map<ReplicaId, string>();
  private readonly promises = new Map<string, Set<ReplicaId>>();
  /** The newest version that each log has. */
  private readonly recorded = new Map<ReplicaId, number>();

  constructor(fault: CoreFault) {
    this.fault = fault;
  }

  /** The first one that is made is that of the founder. */
  logOpens(member: ReplicaId, { configuration, promised }: RecoveredLog, isNew: boolean): void {
    if (this.chain.length === 0) this.add(configuration, null);
    if (isNew && this.recorded.has(member))
      this.fault('OneLifePerIncarnation', `${member} begins a log, and had one before`);
    this.learns(member, configuration);
    this.promises.get(ballotLabel(promised))?.add(member);
  }

  /** Who decides a slot. */
  votersAt(slot: Slot): readonly ReplicaId[] {
    return this.inForce((configuration) => configuration.slot < slot).voters;
  }

  private inForce(holds: (configuration: Configuration) => boolean): ChosenConfiguration {
    let index = this.chain.length - 1;
    while (index > 0 && !holds(this.chain[index]!.configuration)) index -= 1;
    return this.chain[index]!;
  }

  chosen(slot: Slot, ballot: Ballot, { version, members }: Extract<Entry, { kind: 'configuration' }>): void {
    const before = this.chain.at(-1)!.configuration;
    if (version !== before.version + 1 || slot <= before.slot)
      this.fault(
        'ConfigurationsFormAChain',
        `version ${version} in slot ${slot} after ${before.version} in slot ${before.slot}`,
      );
    if (votersDiffering(before.members, members) > 1)
      this.fault('ConfigurationsFormAChain', `version ${version} changes more than one voter`);
    this.add({ version, slot, members }, ballot);
  }

  private add(configuration: Configuration, ballot: Ballot | null): void {
    this.chain.push({ configuration, voters: votersOf(configuration), ballot });
    for (const member of configuration.members) {
      if (member.incarnation === 0) continue;
      const name = nameOf(member);
      const nonce = this.lives.get(name);
      if (nonce !== undefined && nonce !== member.nonce)
        this.fault('OneLifePerIncarnation', `${name} is both ${nonce} and ${member.nonce}`);
      this.lives.set(name, member.nonce);
    }
  }

  isDurable(member: ReplicaId, record: LogRecord): void {
    if (record.kind === 'promise') this.promised(member, record.ballot);
    if (record.kind === 'configuration' || record.kind === 'base') this.learns(member, record.configuration);
    if (record.kind === 'commitPoint' || record.kind === 'base') this.checkKnown(member, record.slot);
  }

  private promised(member: ReplicaId, ballot: Ballot): void {
    const key = ballotLabel(ballot);
    const known = this.promises.get(key);
    if (known === undefined) this.promises.set(key, new Set([member]));
    else known.add(member);
  }

  private learns(member: ReplicaId, { version }: Configuration): void {
    this.recorded.set(member, Math.max(this.recorded.get(member) ?? 0, version));
  }

  private checkKnown(member: ReplicaId, slot: Slot): void {
    const { version } = this.inForce((configuration) => configuration.slot <= slot).configuration;
    const known = this.recorded.get(member) ?? 0;
    if (known < version)
      this.fault(
        'ConfigurationIsKnown',
        `${member} records slot ${slot}, where version ${version} is in force, and knows ${known}`,
      );
  }

  leads(ballot: Ballot): void {
    const promised = this.promises.get(ballotLabel(ballot)) ?? new Set();
    const isBelow = ({ ballot: chosenIn }: ChosenConfiguration): boolean =>
      chosenIn === null || compareBallots(chosenIn, ballot) < 0;
    const { voters, configuration } = this.chain.findLast(isBelow)!;
    if (isMajority(voters, promised)) return;
    this.fault(
      'ElectedByMajority',
      `${ballotLabel(ballot)} was promised by ${[...promised].join(', ')}, of version ${configuration.version}: ${voters.join(', ')}`,
    );
  }
}

/** More than half of `voters` are in `heard`. */
export function isMajority(voters: readonly ReplicaId[], heard: ReadonlySet<ReplicaId>): boolean {
  return 2 * voters.filter((voter) => heard.has(voter)).length > voters.length;
}
