/**
 * Alters a recorded run at the layer `apply` in one place, as a defect of the server or a forger would, to show that the check notices. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../../server/src/wal/lsn.ts';
import {
  alter,
  behindUntil,
  drop,
  exchange,
  last,
  names,
  newestBefore,
  replace,
  type Alteration,
  type Named,
} from './apply-alterations.ts';
import type { ApplyEvent } from './apply-event.ts';

const lsn = (position: number): Lsn => position as Lsn;

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

/** PostgreSQL has said nothing yet, and its standby saves the beginning of a leadership: that has no WAL of its own behind what the directory said. */
function saveBeforeReport(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const saves = ['FlushStandby', 'CheckPrefix', 'EndCopy'] as const;
  const begin = last(events, 'BeginLeadership', (candidate) => {
    const isSaved = newestBefore(candidate, events, saves)?.position === candidate.fork;
    const newest = newestBefore(candidate, events, [...saves, 'DatabaseUp', 'Feed']);
    return candidate.role === 'standby' && isSaved && newest?.name === 'DatabaseUp';
  });
  const { run, replica, seq, atUs, layer, slot, fork: position } = begin;
  const from = newestBefore(begin, events, saves)!.slot;
  const save: TraceEvent = { seq, run, replica, atUs, layer, name: 'FlushStandby', from, slot, position };
  const next = behindUntil(begin, events, 'DatabaseUp').find(({ name }) => name === 'FlushStandby');
  const behind = next === undefined ? events : replace(events, next, [{ ...next, from: slot } as TraceEvent]);
  const altered = replace(behind, begin, [begin, save]);
  const up = newestBefore(begin, events, ['DatabaseUp'])!;
  const reports = behindUntil(up, events, 'BeginLeadership').filter(({ name }) => name === 'Replay');
  return reports.toReversed().reduce((rest, report) => replace(rest, report, []), altered);
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

/** A copy that its source had agreed to is told as begun only when PostgreSQL has ended there, and is given up for that; then comes the one that the run has. */
function beginInVain(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const endings = (begin: TraceEvent): readonly TraceEvent[] => {
    const before = events.filter(
      ({ run, seq, layer }) => run === begin.run && seq < begin.seq && layer === 'apply',
    );
    const quietSinceUs = Math.max(0, ...before.map(({ atUs }) => atUs));
    return events.filter(
      ({ name, replica, atUs }) =>
        (name === 'DatabaseDown' || name === 'Depose') &&
        replicaOf(replica) !== replicaOf(begin.replica) &&
        atUs > quietSinceUs &&
        atUs < begin.atUs,
    );
  };
  const begin = last(events, 'BeginCopy', (candidate) => endings(candidate).length > 0);
  const { replica, atUs } = endings(begin).at(-1)!;
  const next = events.find((event) => event.run === begin.run && event.atUs > atUs)!;
  const inVain = { ...begin, atUs: next.atUs, source: replicaOf(replica) };
  return replace(events, next, [inVain, { ...inVain, name: 'GiveUpCopy' }, next]);
}

/** Those that a run must be accepted with: what is told is true. */
export const applyVariants: Readonly<Record<string, Alteration>> = {
  'a client is told that its transaction is committed': tell('committed', true),
  'a client is told that there is no such transaction': tell('notCommitted', false),
  'a standby saves, without a word of its PostgreSQL, what begins where it came up': saveBeforeReport,
  'a copy is told as begun when the PostgreSQL of its source has ended': beginInVain,
};
