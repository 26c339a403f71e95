/**
 * Alters a recorded run at the layer `apply` in one place, as a defect of the server or a forger would, to show that the check notices. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../../server/src/wal/lsn.ts';
import type { ApplyEvent } from './apply-event.ts';
import { NothingToAlterError } from './nothing-to-alter.ts';

type Named<Name extends ApplyEvent['name']> = Extract<ApplyEvent, { readonly name: Name }>;

/** Events of one run of one replica, in their order. */
type Alteration = (events: readonly TraceEvent[]) => readonly TraceEvent[];

const lsn = (position: number): Lsn => position as Lsn;

/** Whether the run shows what the alteration of this event falsifies: what nothing rests on may as well not have been. */
type Test<Name extends ApplyEvent['name']> = (
  event: Named<Name> & TraceEvent,
  events: readonly TraceEvent[],
) => boolean;

/** The last event of this name that the test is true of. @throws NothingToAlterError */
function last<Name extends ApplyEvent['name']>(
  events: readonly TraceEvent[],
  name: Name,
  test: Test<Name> = () => true,
): Named<Name> {
  const isIt = (event: TraceEvent): event is Named<Name> & TraceEvent =>
    event.layer === 'apply' && event.name === name && test(event as Named<Name> & TraceEvent, events);
  const found = events.findLast(isIt);
  if (found === undefined) throw new NothingToAlterError(`the run has no ${name} to alter`);
  return found;
}

function replace(
  events: readonly TraceEvent[],
  target: TraceEvent,
  by: readonly TraceEvent[],
): readonly TraceEvent[] {
  const shift = by.length - 1;
  return events.flatMap((event) => {
    if (event === target) return by.map((one, index) => ({ ...one, seq: target.seq + index }));
    const isBehind = event.run === target.run && event.seq > target.seq;
    return [isBehind ? { ...event, seq: event.seq + shift } : event];
  });
}

function drop<Name extends ApplyEvent['name']>(name: Name, test?: Test<Name>): Alteration {
  return (events) => replace(events, last(events, name, test), []);
}

function alter<Name extends ApplyEvent['name']>(
  name: Name,
  change: (event: Named<Name>) => Partial<Named<Name>>,
  test?: Test<Name>,
): Alteration {
  return (events) => {
    const target = last(events, name, test);
    return replace(events, target, [{ ...target, ...change(target) }]);
  };
}

/** Exchanges what happened with what happened next at the layer `apply` of the same run. */
function exchange<Name extends ApplyEvent['name']>(
  name: Name,
  next: ApplyEvent['name'],
  test: Test<Name> = () => true,
): Alteration {
  return (events) => {
    const behind = (first: TraceEvent): TraceEvent[] =>
      events.filter(
        ({ run, seq, layer, name: other }) =>
          run === first.run && seq > first.seq && layer === 'apply' && other === next,
      );
    const first = last(events, name, (event) => test(event, events) && behind(event).length > 0);
    const second = behind(first).sort((one, other) => one.seq - other.seq)[0] as TraceEvent;
    const { seq, atUs } = first;
    return events.map((event) => {
      if (event === first) return { ...event, seq: second.seq, atUs: second.atUs };
      return event === second ? { ...event, seq, atUs } : event;
    });
  };
}

/** What this run did next at the layer `apply`, up to the first event of the name `end`. */
function behindUntil(
  event: TraceEvent,
  events: readonly TraceEvent[],
  end: ApplyEvent['name'],
): readonly TraceEvent[] {
  const behind = events
    .filter(({ run, seq, layer }) => run === event.run && seq > event.seq && layer === 'apply')
    .sort((one, other) => one.seq - other.seq);
  const at = behind.findIndex(({ name }) => name === end);
  return at === -1 ? behind : behind.slice(0, at);
}

const names = (events: readonly TraceEvent[]): readonly string[] => events.map(({ name }) => name);

/** The newest event of one of these names that its run told before it. */
function newestBefore<Name extends ApplyEvent['name']>(
  { run, seq }: TraceEvent,
  events: readonly TraceEvent[],
  among: readonly Name[],
): Named<Name> | null {
  let newest: (Named<Name> & TraceEvent) | null = null;
  for (const event of events) {
    if (event.run !== run || event.seq > seq || event.layer !== 'apply') continue;
    if (!among.some((name) => name === event.name) || event.seq < (newest?.seq ?? 0)) continue;
    newest = event as Named<Name> & TraceEvent;
  }
  return newest;
}

/** Behind the last Open: somebody is told this of a transaction that was committed in an earlier leadership. */
function tell(outcome: Named<'TellOutcome'>['outcome'], isShipped: boolean): Alteration {
  return (events) => {
    const open = last(events, 'Open');
    const { leadership, commits } = last(
      events,
      'Ship',
      (ship) => ship.commits.length > 0 && ship.leadership.round < open.leadership.round,
    );
    const { run, replica, atUs, layer } = open;
    const xid = isShipped ? commits[0]! : String(BigInt(commits.at(-1)!) + 1000n);
    const before = events.filter(({ run: its, seq }) => its === run && seq < open.seq);
    const count = (name: ApplyEvent['name']): number => before.filter((event) => event.name === name).length;
    const common = { seq: 0, run, replica, atUs, layer, question: count('AskOutcome') + 1, xid, leadership };
    const asked: TraceEvent = {
      ...common,
      name: 'AskOutcome',
      open: count('AskOutcome') - count('TellOutcome'),
    };
    const told: TraceEvent = { ...common, name: 'TellOutcome', outcome };
    return replace(countedUp(events, open), open, [open, asked, told]);
  };
}

/** One question more has been asked behind this event. */
function countedUp(events: readonly TraceEvent[], { run, seq }: TraceEvent): readonly TraceEvent[] {
  return events.map((event) => {
    const isBehind = event.run === run && event.seq > seq;
    return isBehind && (event.name === 'AskOutcome' || event.name === 'TellOutcome')
      ? { ...event, question: event.question + 1 }
      : event;
  });
}

/** Those that a run must be rejected for. */
export const applyMutants: Readonly<Record<string, Alteration>> = {
  'a range was never shipped': drop('Ship', ({ label }, events) =>
    events.some((event) => event.name === 'Feed' && event.label === label),
  ),
  'a range was never fed to a follower that goes on behind it': drop('Feed', (feed, events) =>
    names(behindUntil(feed, events, 'DatabaseUp')).includes('Feed'),
  ),
  'a timeline was never begun by a follower': drop('BeginLeadership', ({ role }) => role === 'standby'),
  'nobody proposed the leadership': drop('ProposeLeadership'),
  'a leader ships without having been promoted': drop('Promote'),
  'a primary answers behind a barrier without having been opened': drop('Open', (open, events) =>
    names(behindUntil(open, events, 'Depose')).includes('Barrier'),
  ),
  'a directory is whole without a copy': drop('EndCopy'),
  'a copy has no beginning': drop('BeginCopy', (begin, events) =>
    names(behindUntil(begin, events, 'BeginCopy')).includes('EndCopy'),
  ),
  'a directory that may hold unchosen WAL is started as a standby unlooked at': drop(
    'CheckPrefix',
    (check, events) =>
      check.outcome === 'standby' && names(behindUntil(check, events, 'CheckPrefix')).includes('DatabaseUp'),
  ),
  'two ranges are fed in the other order': exchange('Feed', 'Feed'),
  'a primary is opened before it is promoted': exchange('Promote', 'Open'),
  'a leader is promoted before its leadership has begun': exchange(
    'BeginLeadership',
    'Promote',
    ({ role }) => role === 'promoting',
  ),
  'more is released than is chosen': alter('Release', ({ position }) => ({ position: lsn(position + 8) })),
  'a range begins behind a gap': alter('Ship', ({ start }) => ({ start: lsn(start + 8) })),
  'a range ends elsewhere than the next begins': alter('Feed', ({ end }) => ({ end: lsn(end + 8) })),
  'a range is of another timeline': alter('Feed', ({ timeline }) => ({
    timeline: (timeline - 1) as Timeline,
  })),
  'a range is of another leadership': alter('Feed', ({ leadership }) => ({
    leadership: { ...leadership, round: leadership.round - 1 },
  })),
  'another range than the chosen one is fed': alter('Feed', () => ({ label: 'forged/1' })),
  'a standby replays what is not chosen': alter(
    'Replay',
    ({ replayed }) => ({ replayed: lsn(replayed + 8) }),
    (replay, events) => newestBefore(replay, events, ['Feed'])?.end === replay.replayed,
  ),
  'a directory says more than it has': alter('FlushStandby', ({ slot }) => ({ slot: (slot + 1) as Slot })),
  'a timeline takes another number': alter('Promote', ({ timeline }) => ({
    timeline: (timeline + 1) as Timeline,
  })),
  'a timeline begins inside a record': alter('BeginLeadership', ({ fork }) => ({ fork: lsn(fork - 8) })),
  'a leadership counts for a resumed one': alter(
    'BeginLeadership',
    () => ({ resumes: true }),
    ({ resumes }) => !resumes,
  ),
  'a leader does not mark its directory': alter(
    'BeginLeadership',
    () => ({ role: 'standby' }),
    ({ role }) => role === 'promoting',
  ),
  'clients are let in before what was written is chosen': alter('Open', ({ position }) => ({
    position: lsn(position + 8),
  })),
  'a directory is taken for another than it is': alter('CheckPrefix', () => ({ outcome: 'parted' })),
  'a copy holds more than its position says': alter('EndCopy', ({ slot }) => ({ slot: (slot + 1) as Slot })),
  'a copy comes from another than it began with': alter('EndCopy', ({ source }) => ({
    source: (source === 'r3' ? 'r2' : 'r3') as ReplicaId,
  })),
  'the log lets go of what a standby lacks': alter(
    'Purge',
    ({ slot }) => ({ slot: (slot + 1) as Slot }),
    (purge, events) =>
      newestBefore(purge, events, ['FlushStandby', 'EndCopy', 'CheckPrefix'])?.slot === purge.slot,
  ),
  'a client is told that a transaction is not committed, and it is': tell('notCommitted', true),
  'a client is told that a transaction is committed, and there is none': tell('committed', false),
};

/** Those that a run must be accepted with: what is told is true. */
export const applyVariants: Readonly<Record<string, Alteration>> = {
  'a client is told that its transaction is committed': tell('committed', true),
  'a client is told that there is no such transaction': tell('notCommitted', false),
};
