/**
 * What is compared between a state of OrderedApply and the payloads that were led to it: the one named table of it, field by field.
 *
 * Responsible for: both sides of each field in the same words. The table is in specs/ordered-apply.md.
 */
import { isDeepStrictEqual } from 'node:util';
import { decodeWalEntry } from '../../../../server/src/payload/wal/wal-entry.ts';
import type { CodeProposal, PayloadDriver } from './payload-driver.ts';
import type { PayloadReplica } from './payload-replica.ts';
import {
  memberName,
  type PayloadState,
  type SpecEntry,
  type SpecReplica,
  type WalUnit,
} from './payload-state.ts';
import { xidsBefore, type WalBook } from './wal-book.ts';

export interface PayloadDifference {
  readonly what: string;
  readonly spec: unknown;
  readonly code: unknown;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Null: the code is where the specification is. */
export function payloadDifference(state: PayloadState, driver: PayloadDriver): PayloadDifference | null {
  for (const [index, spec] of state.replicas.entries()) {
    const replica = driver.replicas[index]!;
    if (replica.troubles.length > 0)
      return { what: `${replica.member}: it ends`, spec: null, code: replica.troubles };
    const [expected, found] = [specFields(state, spec, replica, driver.book), codeFields(replica)];
    for (const field of Object.keys(expected)) {
      if (isDeepStrictEqual(expected[field], found[field])) continue;
      return { what: `${replica.member}: ${field}`, spec: expected[field], code: found[field] };
    }
  }
  return differentProposal(state, driver);
}

/** Whose directory is being replaced, or has to be, has nothing folded. */
const isWithoutWal = ({ payload }: PayloadReplica): boolean => payload?.wal === null;
const isLeader = ({ mode, stage }: SpecReplica): boolean =>
  mode === 'primary' && (stage === 'begun' || stage === 'open');

/** What the code is about to do, and PostgreSQL or another replica have not done yet. */
function askedBy(
  state: PayloadState,
  { role, mode, stage, leads, durable, copiedFrom }: SpecReplica,
  replica: PayloadReplica,
): string {
  if (mode === 'standby' && stage === 'begun') return 'promotion';
  if (mode !== 'down') return 'nothing';
  if (role === 'copying') return copiedFrom === 0 ? 'copy' : 'nothing';
  if (role === 'standby') return durable < state.purged ? 'copy' : 'standby';
  if (role === 'founder' && leads !== 0) return asked(replica);
  return isWithoutWal(replica) ? 'copy' : 'nothing';
}

function asked({ postgres, copying }: PayloadReplica): string {
  if (postgres.isPromotionAsked) return 'promotion';
  return copying.isAsked ? 'copy' : (postgres.starting ?? 'nothing');
}

function specFields(state: PayloadState, spec: SpecReplica, replica: PayloadReplica, book: WalBook): Fields {
  const { up, leads, stage, at, mode, role, durable, wal, flushed, released, shipped, held, copiedFrom } =
    spec;
  const here = state.fold(at);
  const lsn = (count: number): number => book.lsn(wal, count);
  const isServing = stage === 'open' && leads === state.ballot && held === 0;
  return {
    up,
    leads,
    mode,
    role: role === 'promoting' && mode === 'primary' ? 'primary' : role,
    ...(role !== 'copying' && role !== 'founder' && { durable }),
    ...(up && { stage, answers: isServing }),
    ...(up &&
      !isWithoutWal(replica) && {
        at,
        leadership: here.leadership,
        newestStart: here.newestStart,
        timeline: here.timeline,
        ...(here.timeline !== 0 && { end: book.lsn(here.wal) }),
      }),
    ...(up && { asked: askedBy(state, spec, replica), receives: copiedFrom !== 0 }),
    ...(up && isLeader(spec) && { shipped: lsn(shipped), released: lsn(released), reported: lsn(released) }),
    ...(up &&
      mode === 'standby' &&
      replica.postgres.standby?.sent != null && {
        fed: here.timeline === 0 ? null : book.lsn(here.wal),
        flushedThere: lsn(commonUnits(wal.slice(0, flushed), here.wal)),
      }),
  };
}

/** A timeline and a position on it name one unit. */
function commonUnits(one: readonly WalUnit[], other: readonly WalUnit[]): number {
  const parts = one.findIndex(({ timeline }, index) => timeline !== other[index]?.timeline);
  return parts === -1 ? one.length : parts;
}

function codeFields(replica: PayloadReplica): Fields {
  const { payload, postgres } = replica;
  const { shipper, position, standby } = payload?.context ?? { shipper: null, position: null, standby: null };
  return {
    up: payload !== null,
    leads: replica.leads,
    mode: postgres.mode,
    role: replica.directory.role.kind,
    durable: replica.directory.position.slot,
    stage: replica.stage,
    asked: asked(replica),
    receives: replica.copying.isReceived,
    answers: replica.isOpen && replica.mayAnswer(),
    at: position?.slot,
    leadership: position?.leadership.round,
    newestStart: position?.newestStart.round,
    timeline: position?.timeline,
    end: position?.end,
    shipped: shipper?.received,
    released: shipper?.releasedTo,
    reported: postgres.reportedTo,
    fed: postgres.standby?.sent?.to,
    flushedThere: standby?.flushed ?? null,
  };
}

function differentProposal(state: PayloadState, driver: PayloadDriver): PayloadDifference | null {
  for (const [index, next] of state.next.entries()) {
    const found = driver.next[index + 1] ?? 0;
    if (found !== next) return { what: `the next slot of leadership ${index + 1}`, spec: next, code: found };
  }
  for (const { slot, entry } of state.proposals) {
    if (entry.kind !== 'range' && entry.kind !== 'leadership') continue;
    const proposal = driver.proposals.find((one) => one.slot === slot && one.leadership === entry.leadership);
    const spec = specProposal(state, entry, driver.book);
    const code = proposal === undefined ? {} : codeProposal(proposal);
    const compared = spec.fork === null ? { ...spec, fork: code.fork } : spec;
    if (!isDeepStrictEqual(compared, code)) return { what: `the proposal in slot ${slot}`, spec, code };
  }
  return null;
}

function specProposal(state: PayloadState, entry: SpecEntry, book: WalBook): Fields {
  const owner = state.owner[entry.leadership - 1]!;
  const leadership = { round: entry.leadership, replica: memberName(owner) };
  const { kind, timeline, from, resumes, nextXid } = entry;
  if (kind === 'range')
    return { kind, leadership, timeline, ...book.range(timeline, from, entry.data.length) };
  // Its leader has everything below, unless it has lost that since.
  const { wal } = state.replicas[owner - 1]!;
  const fork = wal.length < from ? null : book.lsn(wal, from);
  return { kind, leadership, timeline, fork, nextXid: BigInt(nextXid + xidsBefore), resumes };
}

function codeProposal({ entry }: CodeProposal): Fields {
  if (entry.kind !== 'command') return { kind: entry.kind };
  const command = decodeWalEntry(entry.payload);
  if (command.kind === 'range') {
    const { kind, leadership, timeline, start, data } = command;
    return { kind, leadership, timeline, start, data: Buffer.from(data).toString('hex') };
  }
  if (command.kind === 'leadership') {
    const { kind, leadership, timeline, fork, nextXid, resumes } = command;
    return { kind, leadership, timeline, fork, nextXid, resumes };
  }
  return { kind: command.kind };
}
