/**
 * What became of each replica in the course of a run: which ballot it held when, as what, whether its process ran, how far it was; and what befell the group. Pure, but for what it gathers.
 *
 * Invariants: the spans of a replica follow one another without a gap or an overlap; everything is bounded, and the oldest goes first.
 */
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import { faultsByLink, spellFault } from '../model/cluster-view.ts';
import type { Frame } from '../model/frames.ts';
import { incarnationName, replicaOf } from '../model/incarnation.ts';
import { addLoad, emptyLoad, type LoadSeries } from '../model/load-series.ts';
import type { Moment } from '../run/run-history.ts';

/** Null `ballot`: it has not said any. `isLeading`: it took itself for the leader. */
export interface Span {
  readonly fromMs: number;
  /** Of the last one: until when that is known. */
  readonly toMs: number;
  readonly ballot: Ballot | null;
  readonly isLeading: boolean;
  readonly process: ClusterReplica['process'];
}

export interface Flag {
  readonly atMs: number;
  readonly kind: 'stopped' | 'started' | 'paused' | 'resumed' | 'fault' | 'healed';
  /** Null: of no one replica. */
  readonly replica: string | null;
  readonly text: string;
}

export interface Election {
  readonly atMs: number;
  readonly replica: string;
  readonly ballot: Ballot;
  readonly kind: 'stood' | 'won';
}

export interface Position {
  readonly atMs: number;
  readonly commitPoint: number;
}

type Kept<T> = { -readonly [Key in keyof T]: T[Key] };

export const tracksMax = { spans: 1_000, flags: 500, elections: 500, positions: 3_000 };

export class Tracks {
  readonly spans = new Map<string, Kept<Span>[]>();
  readonly flags: Flag[] = [];
  readonly elections: Election[] = [];
  readonly positions = new Map<string, Position[]>();
  /** Of the load's clients. */
  answers: LoadSeries = emptyLoad;
  private readonly faults = new Map<string, string>();
  /** Which one each replica was last; 0: it had no log. */
  private readonly incarnations = new Map<string, number>();

  add({ atMs, frames }: Moment): void {
    for (const frame of frames) {
      if (frame.type === 'cluster') this.addCluster(atMs, frame);
      else if (frame.type === 'events') for (const event of frame.events) this.addEvent(atMs, event);
      else if (frame.type === 'load') this.answers = addLoad(this.answers, frame.load, atMs);
    }
  }

  private addCluster(atMs: number, { cluster }: Extract<Frame, { readonly type: 'cluster' }>): void {
    for (const replica of cluster.replicas) {
      const { id, process, status } = replica;
      const last = this.spans.get(id)?.at(-1);
      if (last !== undefined && last.process !== process) this.flagProcess(atMs, id, process);
      const runs = process === 'running' && status !== null;
      const isAnother = status !== null && this.isAnother(id, status.incarnation, atMs);
      const known = isAnother ? null : (last?.ballot ?? null);
      this.extend(id, atMs, {
        process,
        ballot: status === null ? known : later(status.ballot, known),
        isLeading: runs && status.role === 'leader' && status.state === 'serving',
      });
      if (runs) this.note(id, { atMs, commitPoint: status.commitPoint });
    }
    this.noteFaults(atMs, cluster);
  }

  /** Another life of its log has none of the promises of the one before. */
  private isAnother(id: string, incarnation: number, atMs: number): boolean {
    const was = this.incarnations.get(id);
    this.incarnations.set(id, incarnation);
    if (was === undefined || was === incarnation) return false;
    const isLost = incarnation === 0;
    const text = isLost ? `${id} has lost its log` : `${id} is let in as ${incarnationName(id, incarnation)}`;
    const kind = isLost ? 'fault' : 'started';
    push(this.flags, { atMs, kind, replica: id, text }, tracksMax.flags);
    return true;
  }

  private addEvent(atMs: number, event: TraceEvent): void {
    if (event.layer !== 'consensus') return;
    const id = replicaOf(event.replica);
    const last = this.spans.get(id)?.at(-1);
    const { ballot } = event.state;
    const isOfNow = incarnationName(id, this.incarnations.get(id) ?? 1) === event.replica;
    if (last !== undefined && isOfNow && last.process === 'running' && !isSameBallot(last.ballot, ballot))
      this.extend(id, atMs, { process: 'running', ballot, isLeading: event.state.serving });
    if (event.name !== 'StartElection' && event.name !== 'BecomeLeader') return;
    const kind = event.name === 'StartElection' ? 'stood' : 'won';
    push(this.elections, { atMs, replica: id, ballot, kind }, tracksMax.elections);
  }

  private extend(id: string, atMs: number, now: Omit<Span, 'fromMs' | 'toMs'>): void {
    const spans = this.spans.get(id) ?? [];
    this.spans.set(id, spans);
    const last = spans.at(-1);
    if (last !== undefined) last.toMs = atMs;
    const isSame =
      last !== undefined &&
      last.process === now.process &&
      last.isLeading === now.isLeading &&
      isSameBallot(last.ballot, now.ballot);
    if (!isSame) push(spans, { ...now, fromMs: atMs, toMs: atMs }, tracksMax.spans);
  }

  private note(id: string, position: Position): void {
    const positions = this.positions.get(id) ?? [];
    this.positions.set(id, positions);
    push(positions, position, tracksMax.positions);
  }

  private flagProcess(atMs: number, replica: string, process: ClusterReplica['process']): void {
    const was = this.spans.get(replica)!.at(-1)!.process;
    const kind =
      process === 'stopped'
        ? 'stopped'
        : process === 'paused'
          ? 'paused'
          : was === 'stopped'
            ? 'started'
            : 'resumed';
    push(this.flags, { atMs, kind, replica, text: `${replica} ${words[kind]}` }, tracksMax.flags);
  }

  /** All that changed at once is one flag. */
  private noteFaults(atMs: number, cluster: Extract<Frame, { readonly type: 'cluster' }>['cluster']): void {
    const now = new Map([...faultsByLink(cluster)].map(([key, fault]) => [key, spellFault(fault)]));
    const changed = [...now].filter(([key, text]) => this.faults.get(key) !== text);
    const mended = [...this.faults.keys()].filter((key) => !now.has(key));
    if (changed.length > 0) {
      const [key, text] = changed[0]!;
      const more =
        changed.length > 1 ? `${changed.length} links: ${text}` : `${key.replace('>', ' → ')}: ${text}`;
      push(this.flags, { atMs, kind: 'fault', replica: null, text: more }, tracksMax.flags);
    } else if (mended.length > 0) {
      const text =
        mended.length > 1
          ? `${mended.length} links whole again`
          : `${mended[0]!.replace('>', ' → ')} whole again`;
      push(this.flags, { atMs, kind: 'healed', replica: null, text }, tracksMax.flags);
    }
    this.faults.clear();
    for (const [key, text] of now) this.faults.set(key, text);
  }
}

const words = {
  stopped: 'is down',
  started: 'was started',
  paused: 'is frozen',
  resumed: 'goes on',
} as const;

/** A status may be older than the events that came before it. */
function later(told: Ballot, known: Ballot | null): Ballot {
  return known !== null && known.round > told.round ? known : told;
}

function isSameBallot(one: Ballot | null, other: Ballot | null): boolean {
  return one?.round === other?.round && one?.replica === other?.replica;
}

function push<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.splice(0, list.length - most);
}
