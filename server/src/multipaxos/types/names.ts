/**
 * The words of which the core's other types are made: who, where in the log, under which leadership.
 *
 * Names in this folder are those of specs/MultiPaxos.tla; docs/glossary.md defines each word.
 */
declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/**
 * A replica's name within its group, such as `r1`, or the name of one of its incarnations (configuration.ts): a replica that lost its log is
 * another acceptor from then on, `r1.2` and so on; the name of the first incarnation is the replica's own. Inside the core, and in every
 * ballot, it is always an incarnation. Never empty.
 */
export type ReplicaId = Brand<string, 'ReplicaId'>;

/** A position in the log of a group. The first is 1; 0 means "none". A safe integer. */
export type Slot = Brand<number, 'Slot'>;

/** The name of a group of replicas (one replicated log). */
export type GroupId = Brand<string, 'GroupId'>;

/** Orders leaderships: by round, then by replica name. `{ round: 0, replica: '' }` is below every real ballot. */
export interface Ballot {
  readonly round: number;
  readonly replica: ReplicaId;
}

/** Names one proposal for ever: `client` is unique to one run of one gateway session, `request` counts within it. */
export interface ProposalId {
  readonly client: string;
  readonly request: number;
}

export type StepDownReason =
  | 'databaseFailed'
  | 'logFailed'
  | 'quorumLost'
  | 'higherBallot'
  | 'requested'
  /** To another, which stands at once. */
  | 'handedOver'
  /** It is no voter any more. */
  | 'removed';

export type Role = 'follower' | 'candidate' | 'leader';

/** A short name for what a slot holds: `noop`, `start:<ballot>`, `members:<version>:<ballot>` or `<client>/<request>`. Unique to the entry. */
export type EntryLabel = string;
