/** Development only. The WAL side of the toy: what its leader ships and releases, what its followers are fed, and what is told of it. Guarantees nothing. */
import type { WalStatus } from '../../server/src/api/status.ts';
import type { Lsn, Timeline } from '../../server/src/wal/lsn.ts';
import { formatLsn } from '../src/model/wal-position.ts';
import { slot } from './toy-replica.ts';
import type { EventBody, ToyEntry, ToyReplica } from './toy-replica.ts';
import { rangeBytes, runningTransaction, walStart } from './toy-wal.ts';
import type { ToyContent } from './toy-wal.ts';

const keptMax = 4000;
const sampleMs = 200;
const sampledMax = 50;

interface ShippingContext {
  readonly nowMs: () => number;
  readonly emit: (replica: ToyReplica, body: EventBody) => void;
}

export type NewEntry = Omit<ToyEntry, 'ballot' | 'atMs'>;

export interface Shipping {
  /** One range with these statements, after what the leader's log has. */
  readonly ship: (replica: ToyReplica, sqls: readonly string[]) => NewEntry;
  /** What a new leader proposes first. */
  readonly begin: (replica: ToyReplica) => readonly NewEntry[];
  /** Slots that the leader has seen chosen. */
  readonly release: (replica: ToyReplica, from: number, to: number) => void;
  /** Slots that a follower applies. */
  readonly feed: (replica: ToyReplica, from: number, to: number) => void;
  readonly databaseUp: (replica: ToyReplica) => void;
  readonly open: (replica: ToyReplica) => void;
  /** What the leader's clients are at, now and then. */
  readonly sample: (replica: ToyReplica) => void;
  readonly walOf: (replica: ToyReplica) => Omit<WalStatus, 'role'>;
}

export function createShipping({ nowMs, emit }: ShippingContext): Shipping {
  let request = 0;
  let nextXid = 790;
  let sampledAtMs = 0;

  const nextLabel = (replica: ToyReplica): string => `${replica.id}.${replica.run}/${(request += 1)}`;

  const tellLeadership = (replica: ToyReplica, at: number, { label, content, ballot }: ToyEntry): void => {
    if (content.kind !== 'leadership') return;
    const fields = { leadership: ballot, timeline: content.timeline as Timeline, fork: lsn(content.fork) };
    const leads = ballot.replica === replica.id;
    emit(replica, {
      layer: 'apply',
      name: 'BeginLeadership',
      slot: slot(at),
      label,
      ...fields,
      nextXid: String(content.nextXid),
      resumes: false,
      role: leads ? 'promoting' : 'standby',
    });
    if (leads) emit(replica, { layer: 'apply', name: 'Promote', ...fields });
  };

  return {
    ship(replica, sqls) {
      const statements = sqls.map((sql) => ({ xid: (nextXid += 1), sql }));
      const { end: start, timeline } = walAt(replica, replica.lastSlot);
      const leadership = replica.ballot;
      const end = start + rangeBytes(statements);
      const label = nextLabel(replica);
      const commits = statements.map(({ xid }) => String(xid));
      const range = { timeline: timeline as Timeline, start: lsn(start), end: lsn(end) };
      emit(replica, { layer: 'apply', name: 'Ship', label, leadership, ...range, commits });
      return { label, content: { kind: 'range', leadership, timeline, start, end, statements } };
    },
    begin(replica) {
      const { end, timeline } = walAt(replica, replica.lastSlot);
      const leadership: ToyContent = { kind: 'leadership', timeline: timeline + 1, fork: end, nextXid };
      return [
        { label: `start:${replica.ballot.round}·${replica.id}`, content: { kind: 'start' } },
        { label: nextLabel(replica), content: leadership },
      ];
    },
    release(replica, from, to) {
      for (let at = from; at <= to; at += 1) {
        const entry = replica.log.get(at);
        if (entry?.content.kind === 'leadership') tellLeadership(replica, at, entry);
        if (entry?.content.kind !== 'range') continue;
        replica.counters.transactions += entry.content.statements.length;
        replica.latenciesMs.push(nowMs() - entry.atMs + 0.4);
      }
      const position = lsn(walAt(replica, to).end);
      emit(replica, { layer: 'apply', name: 'Release', slot: slot(to), position });
    },
    feed(replica, from, to) {
      for (let at = from; at <= to; at += 1) {
        const entry = replica.log.get(at);
        if (entry?.content.kind === 'leadership') tellLeadership(replica, at, entry);
        if (entry?.content.kind !== 'range') continue;
        const { leadership, timeline, start, end } = entry.content;
        const range = { timeline: timeline as Timeline, start: lsn(start), end: lsn(end) };
        emit(replica, {
          layer: 'apply',
          name: 'Feed',
          slot: slot(at),
          label: entry.label,
          leadership,
          ...range,
        });
      }
      const position = lsn(walAt(replica, to).end);
      emit(replica, { layer: 'apply', name: 'Replay', flushed: position, replayed: position });
    },
    databaseUp(replica) {
      const { end, timeline } = walAt(replica, replica.applied);
      const at = { slot: slot(replica.applied), position: lsn(end), timeline: timeline as Timeline };
      emit(replica, { layer: 'apply', name: 'DatabaseUp', role: 'standby', ...at });
    },
    open(replica) {
      const at = { slot: slot(replica.commitPoint), position: lsn(walAt(replica, replica.commitPoint).end) };
      emit(replica, { layer: 'apply', name: 'Open', leadership: replica.ballot, ...at });
    },
    sample(replica) {
      if (nowMs() - sampledAtMs < sampleMs) return;
      sampledAtMs = nowMs();
      const open = [...replica.log].filter(([at]) => at > replica.commitPoint).map(([, entry]) => entry);
      const waits = open.flatMap(({ content, atMs }) =>
        content.kind === 'range'
          ? content.statements.map((each) => runningTransaction(each, nowMs() - atMs, 'waiting'))
          : [],
      );
      const forgotten = { xid: 788, sql: "UPDATE orders SET note = 'no sugar' WHERE id = 7" };
      const all = [runningTransaction(forgotten, nowMs(), 'idle'), ...waits];
      const transactions = all.slice(0, sampledMax);
      const more = all.length - transactions.length;
      emit(replica, { layer: 'operation', name: 'RunningTransactions', transactions, more });
    },
    walOf(replica) {
      const chosen = walAt(replica, replica.commitPoint);
      const unchosen = walAt(replica, replica.lastSlot).end - chosen.end;
      return {
        timeline: chosen.timeline,
        chosen: formatLsn(chosen.end),
        flushed: formatLsn(walAt(replica, Math.min(replica.commitPoint, replica.applied + 4)).end),
        replayed: formatLsn(walAt(replica, replica.applied).end),
        unchosenBytes: replica.role === 'leader' ? unchosen : 0,
      };
    },
  };
}

/** Where the WAL up to a slot ends, and on which timeline, as this replica's log has it. */
function walAt(replica: ToyReplica, at: number): { readonly end: number; readonly timeline: number } {
  for (let below = at; below > Math.max(0, at - keptMax); below -= 1) {
    const content = replica.log.get(below)?.content;
    if (content?.kind === 'range') return { end: content.end, timeline: content.timeline };
    if (content?.kind === 'leadership') return { end: content.fork, timeline: content.timeline };
  }
  return { end: walStart, timeline: 1 };
}

function lsn(position: number): Lsn {
  return position as Lsn;
}
