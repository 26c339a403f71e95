/** The rules of the protocol core that a run must keep, by name. */

export type CoreRule =
  /** No two entries are chosen in one slot. */
  | 'Agreement'
  /** Only what a majority has made durable in one ballot is taken as chosen, by whoever votes, leads, tells others or feeds its database. */
  | 'OnlyChosenIsTaken'
  /** A promise or a vote is on disk before anybody hears of it. */
  | 'RevealedIsDurable'
  /** No replica votes below a promise that it has revealed, not even after a crash. */
  | 'PromiseKept'
  /** A promise tells all votes that its sender has on disk and that the candidate may need. */
  | 'PromiseTellsVotes'
  /** What a log has said to be durable is there when it is opened again, and the core begins with all of it. */
  | 'RestartKnowsAll'
  /** Whoever leads was promised by a majority of the newest configuration that was chosen in a lower ballot. */
  | 'ElectedByMajority'
  /** Whoever begins to serve has applied all that was chosen in lower ballots. */
  | 'ServesAllThatIsChosen'
  /** No two replicas hold a lease at once. */
  | 'OneLeaseHolder'
  /** Nothing is chosen above what a leader that holds its lease has proposed or found. */
  | 'LeaderKnowsWhatIsChosen'
  /** Configurations are chosen one version after the other, and each changes one voter at most. */
  | 'ConfigurationsFormAChain'
  /** The name of an incarnation is never given to two lives of a replica. */
  | 'OneLifePerIncarnation'
  /** What a log says to be chosen comes with the configuration that is in force there. */
  | 'ConfigurationIsKnown'
  /** A log forgets only what its own database has, durably, and nobody says to have more. */
  | 'PurgedIsDurable';

export type CoreFault = (rule: CoreRule, detail: string) => void;
