/** A state of ReplayLease in the words of the code. Pure. */
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { nameOfNumber } from '../replay-members.ts';
import { asNumber, asRecord, asSequence, asSet, asText } from '../spec-view.ts';
import type { TlaState, TlaValue } from '../tla-value.ts';

/** What a step does; 0 where it has no such thing. */
export interface LeaseAction {
  readonly name: string;
  /** 0: all of them. */
  readonly replica: number;
  readonly from: number;
  readonly ballot: number;
  readonly sentAt: number;
}

/** What is compared. Ballots by their rounds, times by the clock of the replica. */
export interface LeaseView {
  readonly promised: number;
  /** 0: it does not. */
  readonly leading: number;
  /** Of a word that is over nothing is left. */
  readonly grant: { readonly until: number; readonly to: ReplicaId | null };
  /** Of a leader: `peer sentAt`. */
  readonly acked: readonly string[];
  /** To whom it must promise nothing. */
  readonly forbids: readonly ReplicaId[];
  readonly holds: boolean;
}

export function actionOfLease(state: TlaState): LeaseAction {
  const { name, replica, from, ballot, sentAt } = asRecord(state.act);
  return {
    name: asText(name),
    replica: asNumber(replica),
    from: asNumber(from),
    ballot: asNumber(ballot),
    sentAt: asNumber(sentAt),
  };
}

export function clocksOf(state: TlaState): readonly number[] {
  return asSequence(state.clock).map(asNumber);
}

/** Who has promised the ballot, and the candidate has not led in it. */
export function promisersOf(state: TlaState, ballot: number): readonly number[] {
  return asSet(state.votes)
    .map((vote) => asSequence(vote).map(asNumber))
    .flatMap(([voter, voted]) => (voted === ballot ? [voter!] : []));
}

export function leaseView(state: TlaState, number: number): LeaseView {
  const of = (variable: string): TlaValue | undefined => asSequence(state[variable])[number - 1];
  const grant = asRecord(of('grant'));
  const [until, to, leading] = [asNumber(grant.until), asNumber(grant.to), asNumber(of('leading'))];
  const isKept = until > asNumber(of('clock'));
  const acked = asSequence(of('acked')).map(asNumber);
  return {
    promised: asNumber(of('promised')),
    leading,
    grant: isKept ? { until, to: to === 0 ? null : nameOfNumber(to) } : { until: 0, to: null },
    acked:
      leading === 0
        ? []
        : acked.flatMap((sentAt, i) => (sentAt === 0 ? [] : [`${nameOfNumber(i + 1)} ${sentAt}`])).sort(),
    forbids: asSet(of('forbids')).map((one) => nameOfNumber(asNumber(one))),
    holds: of('holds') === true,
  };
}
