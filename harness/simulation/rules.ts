/** The rules that a run must keep, each named, and the error that says which one broke. */

export type Rule =
  /** No two entries are chosen in one slot. */
  | 'Agreement'
  /** Only what a majority has made durable in one ballot is taken as chosen. */
  | 'OnlyChosenIsReported'
  /** Each replica reports chosen slots in order, each once in the life of its process. */
  | 'ReportedInOrder'
  /** No replica votes below a promise that it has revealed, not even after a crash. */
  | 'PromiseKept'
  /** What was revealed as voted for, or reported as chosen, is on that replica's disk until it is purged. */
  | 'ChosenIsDurable'
  /** Every database applies the same proposals in the same slots. */
  | 'AppliedAlike'
  /** What a client was told is committed stays. */
  | 'AcknowledgedIsKept'
  /** Reads and writes are linearizable. */
  | 'Linearizable'
  /** No two replicas hold a lease at once. */
  | 'OneLeaseHolder'
  /** Once healed, the group serves, and all replicas become equal. */
  | 'ProgressAfterHeal'
  /** Configurations are chosen one version after the other, and each changes one voter at most. */
  | 'ConfigurationsFormAChain'
  /** The name of an incarnation is never given to two lives of a replica. */
  | 'OneLifePerIncarnation'
  /** Whoever leads was promised by a majority of the newest configuration that was chosen in a lower ballot. */
  | 'ElectedByMajority'
  /** What a log says to be chosen comes with the configuration that is in force there. */
  | 'ConfigurationIsKnown'
  /** Nothing is chosen above what a leader that holds its lease has proposed. */
  | 'LeaderKnowsWhatIsChosen'
  /** A log forgets only what its own database has, durably. */
  | 'PurgedIsDurable'
  /** The core itself found a broken invariant, or threw. */
  | 'CoreInvariant';

export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
  readonly rule: Rule;

  constructor(rule: Rule, detail: string, options?: { cause?: unknown }) {
    super(`${rule}: ${detail}`, options);
    this.rule = rule;
  }
}
