/**
 * A state of ReplayOrderedApply in words of the code, as far as the payload is compared with it. Pure.
 *
 * Responsible for: reading TLA+ values. What is compared with what is payload-view.ts.
 */
import type { Ballot, ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { asNumber, asRecord, asSequence, asSet, asText } from '../spec-view.ts';
import type { TlaState, TlaValue } from '../tla-value.ts';

/** A record of WAL, or one half of one. */
export interface WalUnit {
  readonly timeline: number;
  readonly request: string;
  readonly xid: number;
  readonly whole: boolean;
}

export interface PayloadAction {
  readonly name: string;
  readonly params: readonly TlaValue[];
}

/** `owner`: of the leadership that the entry is of; null: a no-op. */
export interface SpecEntry {
  readonly kind: 'noop' | 'leaderStart' | 'other' | 'range' | 'leadership';
  readonly leadership: number;
  readonly timeline: number;
  /** Of a range; of a leadership where it forks. */
  readonly from: number;
  readonly data: readonly WalUnit[];
  readonly nextXid: number;
  readonly resumes: boolean;
}

interface SpecFold {
  readonly leadership: number;
  readonly newestStart: number;
  readonly timeline: number;
  readonly wal: readonly WalUnit[];
}

/** One replica. */
export interface SpecReplica {
  readonly up: boolean;
  readonly leads: number;
  readonly stage: string;
  readonly at: number;
  readonly shipped: number;
  readonly released: number;
  readonly held: number;
  readonly mode: 'down' | 'standby' | 'primary';
  readonly timeline: number;
  readonly wal: readonly WalUnit[];
  readonly flushed: number;
  readonly applied: number;
  readonly role: string;
  readonly durable: number;
  readonly copiedFrom: number;
}

export interface PayloadState {
  readonly act: PayloadAction;
  readonly ballot: number;
  readonly owner: readonly number[];
  readonly start: readonly number[];
  readonly next: readonly number[];
  readonly log: readonly SpecEntry[];
  readonly proposals: readonly { readonly slot: number; readonly entry: SpecEntry }[];
  readonly purged: number;
  readonly replicas: readonly SpecReplica[];
  /** Each a request and its outcome. */
  readonly told: readonly string[];
  /** What the log comes to up to a slot. */
  readonly fold: (slot: number) => SpecFold;
  /** The code is in the middle of what it does at once. */
  readonly pending: boolean;
}

export function memberName(replica: number): ReplicaId {
  return `r${replica}` as ReplicaId;
}

/** Of a leadership, by its number. */
export function ballotOfLeadership({ owner }: Pick<PayloadState, 'owner'>, leadership: number): Ballot {
  return { round: leadership, replica: memberName(owner[leadership - 1]!) };
}

export function unitOf(value: TlaValue): WalUnit {
  const { timeline, request, xid, whole } = asRecord(value);
  return {
    timeline: asNumber(timeline),
    request: asText(request),
    xid: asNumber(xid),
    whole: whole === true,
  };
}

const unitsOf = (value: TlaValue | undefined): WalUnit[] => asSequence(value ?? []).map(unitOf);
const numbersOf = (value: TlaValue | undefined): number[] => asSequence(value).map(asNumber);

export function specEntryOf(value: TlaValue): SpecEntry {
  const fields = asRecord(value);
  return {
    kind: fields.kind as SpecEntry['kind'],
    leadership: asNumber(fields.leadership),
    timeline: fields.timeline === undefined ? 0 : asNumber(fields.timeline),
    from: asNumber(fields.start ?? fields.fork ?? 0),
    data: unitsOf(fields.data),
    nextXid: asNumber(fields.nextXid ?? 0),
    resumes: fields.resumes === true,
  };
}

function replicaOf(state: TlaState, index: number): SpecReplica {
  const of = (variable: string): Readonly<Record<string, TlaValue>> =>
    asRecord(asSequence(state[variable])[index]);
  const [node, pg, dir, copy] = [of('node'), of('pg'), of('dir'), of('copy')];
  return {
    up: node.up === true,
    leads: asNumber(node.leads),
    stage: asText(node.stage),
    at: asNumber(node.at),
    shipped: asNumber(node.shipped),
    released: asNumber(node.released),
    held: asNumber(node.held),
    mode: pg.mode as SpecReplica['mode'],
    timeline: asNumber(pg.timeline),
    wal: unitsOf(pg.wal),
    flushed: asNumber(pg.flushed),
    applied: asNumber(pg.applied),
    role: asText(dir.role),
    durable: asNumber(dir.durable),
    copiedFrom: asNumber(copy.source),
  };
}

export function payloadState(state: TlaState): PayloadState {
  const { name, params } = asRecord(state.act);
  const folds = asSequence(state.fold);
  return {
    act: { name: asText(name), params: asSequence(params) },
    ballot: asNumber(state.ballot),
    owner: numbersOf(state.owner),
    start: numbersOf(state.start),
    next: numbersOf(state.next),
    log: asSequence(state.log).map(specEntryOf),
    proposals: asSet(state.proposals).map((value) => {
      const { slot, entry } = asRecord(value);
      return { slot: asNumber(slot), entry: specEntryOf(entry!) };
    }),
    purged: asNumber(state.purged),
    replicas: asSequence(state.node).map((_, index) => replicaOf(state, index)),
    told: asSet(state.told).map((value) => {
      const { request, outcome } = asRecord(value);
      return `${asText(request)}: ${asText(outcome)}`;
    }),
    fold: (slot) => {
      const { leadership, newestStart, timeline, wal } = asRecord(folds[slot]);
      return {
        leadership: asNumber(leadership),
        newestStart: asNumber(newestStart),
        timeline: asNumber(timeline),
        wal: unitsOf(wal),
      };
    },
    pending: state.pending === true,
  };
}

/** The end of the last whole record. */
export function wholeEnd(wal: readonly WalUnit[]): number {
  return wal.findLastIndex(({ whole }) => whole) + 1;
}
