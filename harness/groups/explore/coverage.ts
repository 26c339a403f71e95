/**
 * What a run has come through: which action each of its replicas took, in which state of its own and of the others.
 *
 * Responsible for: what counts as the same. A state leaves out all numbers, so that there are thousands of pairs and not millions. Pure.
 */
import type { ApplyTraceEvent, TraceEvent } from '../../../server/src/api/events.ts';
import { compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';

interface View {
  role: string;
  database: string;
  commitPoint: number;
  hasTail: boolean;
  awaitsFsync: boolean;
}

/** Of one run: tell it each event in order. */
export class Coverage {
  private readonly views = new Map<ReplicaId, View>();
  /** Pairs of action and state, with the time of the run at which each was met first. */
  readonly pairs = new Map<string, number>();

  see(event: TraceEvent, atMs: number): void {
    if (event.layer !== 'consensus' && event.layer !== 'apply') return;
    const replica = replicaOf(event.replica);
    const view = this.views.get(replica) ?? this.begin(replica);
    const pair = `${actionOf(event)} | ${this.own(view)} | ${this.others(replica)}`;
    if (!this.pairs.has(pair)) this.pairs.set(pair, atMs);
    if (event.layer === 'consensus') takeCore(view, event);
    else takeApply(view, event);
  }

  private begin(replica: ReplicaId): View {
    const view = { role: 'follower', database: 'down', commitPoint: 0, hasTail: false, awaitsFsync: false };
    this.views.set(replica, view);
    return view;
  }

  private own({ role, database, commitPoint, hasTail, awaitsFsync }: View): string {
    const newest = Math.max(...[...this.views.values()].map((view) => view.commitPoint));
    const lag = commitPoint === newest ? 'even' : 'behind';
    return [role, database, lag, hasTail ? 'tail' : 'no tail', awaitsFsync ? 'unflushed' : 'flushed'].join(
      ' ',
    );
  }

  /** Whether one of them leads, and which databases there are among them. */
  private others(replica: ReplicaId): string {
    const others = [...this.views].filter(([other]) => other !== replica).map(([, view]) => view);
    const leads = others.some(({ role }) => role === 'serving')
      ? 'serving'
      : others.some(({ role }) => role === 'leader')
        ? 'leading'
        : 'nobody';
    return [leads, ...new Set(others.map(({ database }) => database))].toSorted().join(', ');
  }
}

/** An action with what decides how it goes on: what it came to, and whether the ballot of its message is a new one. */
function actionOf(event: Exclude<TraceEvent, { layer: 'operation' | 'lease' }>): string {
  if (event.layer === 'consensus') {
    const { name, reason = '', message, state } = event;
    if (message === undefined) return `${name} ${reason}`;
    const compared = compareBallots(message.ballot, state.promised);
    return `${name} ${compared < 0 ? 'old' : compared > 0 ? 'newer' : 'same'} ballot`;
  }
  if ('outcome' in event) return `${event.name} ${event.outcome}`;
  if ('why' in event) return `${event.name} ${event.why}`;
  if ('role' in event) return `${event.name} ${event.role}`;
  return event.name;
}

function takeCore(view: View, { name, state }: CoreTraceEvent): void {
  view.role = state.serving ? 'serving' : state.role;
  view.commitPoint = state.commitPoint;
  view.hasTail = state.lastSlot > state.commitPoint;
  view.awaitsFsync = compareBallots(state.durablePromised, state.promised) < 0;
  if (name === 'Restart') view.database = 'down';
}

function takeApply(view: View, event: ApplyTraceEvent): void {
  switch (event.name) {
    case 'DatabaseUp':
      view.database = event.role;
      return;
    case 'BeginLeadership':
      view.database = event.role;
      return;
    case 'Promote':
    case 'Resume':
      view.database = 'primary';
      return;
    case 'Open':
      view.database = 'open';
      return;
    case 'EndWait':
      view.database = 'held';
      return;
    case 'Barrier':
      if (event.opens) view.database = 'open';
      return;
    case 'Depose':
    case 'DatabaseDown':
    case 'EndCopy':
    case 'GiveUpCopy':
      view.database = 'down';
      return;
    case 'CheckPrefix':
      view.database = `down, ${event.outcome}`;
      return;
    case 'BeginCopy':
      view.database = 'copying';
      return;
    case 'Ship':
    case 'Release':
    case 'Feed':
    case 'Skip':
    case 'Replay':
    case 'FlushStandby':
    case 'ProposeLeadership':
    case 'AskOutcome':
    case 'TellOutcome':
    case 'Purge':
      return;
    default:
      event satisfies never;
  }
}
