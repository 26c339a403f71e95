/**
 * The judge of the members: which configurations are chosen, who votes where, and whether elections and logs respect it.
 *
 * Responsible for: the rules about configurations, incarnations and elections. Knows only what is durable.
 */
import { ballotLabel, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import { nameOf, votersDiffering, votersOf } from '../../server/src/multipaxos/configuration.ts';
import { hasMajority } from '../../server/src/multipaxos/quorum.ts';
import type { Entry } from '../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../server/src/multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord } from '../../server/src/multipaxos/types/records.ts';
import { RuleBroken } from './rules.ts';

interface ChosenConfiguration {
  readonly configuration: Configuration;
  readonly voters: readonly ReplicaId[];
  /** The lowest ballot in which it is known to be chosen; null: founded. */
  readonly ballot: Ballot | null;
}

export class JudgeOfMembers {
  /** By version, from the founding on. */
  private readonly chain: ChosenConfiguration[];
  private readonly lives = new Map<ReplicaId, string>();
  private readonly promises = new Map<string, Set<ReplicaId>>();
  private readonly recorded = new Map<ReplicaId, number>();

  constructor(founding: Configuration) {
    this.chain = [{ configuration: founding, voters: votersOf(founding), ballot: null }];
    this.noteLives(founding);
  }

  newest(): Configuration {
    return this.chain.at(-1)!.configuration;
  }

  /** Those of `version` and above: one that is chosen is of no use to survivors who do not know it. */
  since(version: number): readonly Configuration[] {
    return this.chain
      .map(({ configuration }) => configuration)
      .filter((configuration) => configuration.version >= version);
  }

  /** Who decides a slot. */
  votersAt(slot: Slot): readonly ReplicaId[] {
    let index = this.chain.length - 1;
    while (index > 0 && this.chain[index]!.configuration.slot >= slot) index -= 1;
    return this.chain[index]!.voters;
  }

  chosen(slot: Slot, ballot: Ballot, { version, members }: Entry & { kind: 'configuration' }): void {
    const before = this.newest();
    if (version !== before.version + 1 || slot <= before.slot) {
      throw new RuleBroken(
        'ConfigurationsFormAChain',
        `version ${version} in slot ${slot} after ${before.version} in slot ${before.slot}`,
      );
    }
    if (votersDiffering(before.members, members) > 1)
      throw new RuleBroken('ConfigurationsFormAChain', `version ${version} changes more than one voter`);
    const configuration: Configuration = { version, slot, members };
    this.chain.push({ configuration, voters: votersOf(configuration), ballot });
    this.noteLives(configuration);
  }

  private noteLives({ members }: Configuration): void {
    for (const member of members) {
      if (member.incarnation === 0) continue;
      const name = nameOf(member);
      const nonce = this.lives.get(name);
      if (nonce !== undefined && nonce !== member.nonce)
        throw new RuleBroken('OneLifePerIncarnation', `${name} is both ${nonce} and ${member.nonce}`);
      this.lives.set(name, member.nonce);
    }
  }

  /** A new log begins with this configuration. */
  logBegins(replica: ReplicaId, { version }: Configuration): void {
    this.recorded.set(replica, version);
  }

  recordIsDurable(replica: ReplicaId, record: LogRecord): void {
    if (record.kind === 'promise') this.notePromise(replica, record.ballot);
    if (record.kind === 'configuration' || record.kind === 'base') {
      const known = this.recorded.get(replica) ?? 1;
      this.recorded.set(replica, Math.max(known, record.configuration.version));
    }
    if (record.kind === 'commitPoint' || record.kind === 'base') this.checkKnown(replica, record.slot);
  }

  private notePromise(replica: ReplicaId, ballot: Ballot): void {
    const key = ballotLabel(ballot);
    const known = this.promises.get(key);
    if (known === undefined) this.promises.set(key, new Set([replica]));
    else known.add(replica);
  }

  private checkKnown(replica: ReplicaId, slot: Slot): void {
    let index = this.chain.length - 1;
    while (index > 0 && this.chain[index]!.configuration.slot > slot) index -= 1;
    const { version } = this.chain[index]!.configuration;
    const known = this.recorded.get(replica) ?? 1;
    if (known < version) {
      throw new RuleBroken(
        'ConfigurationIsKnown',
        `${replica} records slot ${slot}, where version ${version} is in force, and knows ${known}`,
      );
    }
  }

  leads(ballot: Ballot): void {
    const promised = this.promises.get(ballotLabel(ballot)) ?? new Set();
    for (let index = this.chain.length - 1; index >= 0; index -= 1) {
      const { configuration, voters, ballot: chosenIn } = this.chain[index]!;
      if (chosenIn !== null && compareBallots(chosenIn, ballot) >= 0) continue;
      if (hasMajority(voters, promised)) return;
      throw new RuleBroken(
        'ElectedByMajority',
        `${ballotLabel(ballot)} was promised by ${[...promised].join(', ')}, of version ${configuration.version}: ${voters.join(', ')}`,
      );
    }
  }
}
