/**
 * Ways in which what a run tells of the lease is falsified in one place, each by what it would mean. Pure.
 *
 * Invariant: what an alteration says elsewhere stays as it was, so that it is rejected for its meaning and not for its form.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import { NothingToAlterError } from '../trace/nothing-to-alter.ts';
import type { LeaseEvent } from './lease-event.ts';

type Name = LeaseEvent['name'];
type Named<N extends Name> = Extract<LeaseEvent, { name: N }>;

export interface LeaseMutated {
  readonly events: readonly TraceEvent[];
  /** At which it must be rejected. */
  readonly altered: LeaseEvent;
}

export type LeaseAlteration = (events: readonly TraceEvent[]) => LeaseMutated;

/** The last of this name that passes the test. @throws NothingToAlterError */
function last<N extends Name>(
  events: readonly TraceEvent[],
  name: N,
  test: (event: Named<N>) => boolean = () => true,
): Named<N> {
  const found = events.findLast(
    (event): event is Named<N> => event.layer === 'lease' && event.name === name && test(event as Named<N>),
  );
  if (found === undefined) throw new NothingToAlterError(`the trace has no ${name} to alter`);
  return found;
}

function alter<N extends Name>(
  name: N,
  change: (event: Named<N>) => Partial<Named<N>>,
  test?: (event: Named<N>) => boolean,
): LeaseAlteration {
  return (events) => {
    const target = last(events, name, test);
    const altered: LeaseEvent = { ...target, ...change(target) };
    return { events: events.map((event) => (event === target ? altered : event)), altered };
  };
}

const earlier = ({ round, replica }: Ballot): Ballot => ({ round: round - 1, replica });

/** What it had acknowledged when it was elected is nothing, so it is one that counts. */
const isHeld = ({ lease }: Named<'AnswerRead'>): boolean => typeof lease?.untilMs === 'number';

/** A promise to another: in the same moment its maker heard its leader once more. */
const promisesInGrant: LeaseAlteration = (events) => {
  const heardBefore = (promise: Named<'GivePromise'>): Named<'HandleHeartbeat'> | undefined =>
    events.findLast(
      (event): event is Named<'HandleHeartbeat'> =>
        event.layer === 'lease' &&
        event.name === 'HandleHeartbeat' &&
        event.run === promise.run &&
        event.seq < promise.seq,
    );
  const promise = last(
    events,
    'GivePromise',
    (event) =>
      event.lease === null &&
      event.ballot.replica !== heardBefore(event)?.ballot.replica &&
      heardBefore(event) !== undefined,
  );
  const heard = heardBefore(promise)!;
  const lengthMs = heard.grant.untilMs - heard.clockMs;
  const { seq, atUs, clockMs } = promise;
  const grant = { ...heard.grant, untilMs: clockMs + lengthMs };
  const again: LeaseEvent = { ...heard, seq, atUs, clockMs, grant };
  const altered: LeaseEvent = { ...promise, seq: seq + 1, grant };
  const result = events.flatMap((event): TraceEvent[] => {
    if (event === promise) return [again, altered];
    return [event.run === promise.run && event.seq > seq ? { ...event, seq: event.seq + 1 } : event];
  });
  return { events: result, altered };
};

/** An answer that was refused leaves. */
const answersRefused: LeaseAlteration = (events) => {
  const refused = last(events, 'RefuseAnswer');
  const { seq, run, replica, atUs, layer, clockMs, generation, lease } = refused;
  const altered: LeaseEvent = {
    seq,
    run,
    replica,
    atUs,
    layer,
    name: 'AnswerRead',
    clockMs,
    generation,
    ranMs: clockMs,
    lease,
  };
  return { events: events.map((event) => (event === refused ? altered : event)), altered };
};

/** A follower's clock runs at three quarters of its rate for one whole life. */
const slowClock: LeaseAlteration = (events) => {
  const leaders = new Set(
    events.filter(({ layer, name }) => layer === 'lease' && name === 'Lead').map(({ run }) => run),
  );
  const begin = last(
    events,
    'Restart',
    ({ run, clockMs, leaseMs }) =>
      !leaders.has(run) &&
      events.some(
        (event) => event.layer === 'lease' && event.run === run && event.clockMs > clockMs + 3 * leaseMs,
      ),
  );
  const slowed = (ms: number): number => begin.clockMs + (ms - begin.clockMs) * 0.75;
  let first: LeaseEvent | null = null;
  const result = events.map((event) => {
    if (event.layer !== 'lease' || event.run !== begin.run || event === begin) return event;
    const clockMs = slowed(event.clockMs);
    let altered: LeaseEvent = { ...event, clockMs };
    // Its word is given for as long as before, by its clock.
    if (altered.name === 'HandleHeartbeat')
      altered = { ...altered, grant: { ...altered.grant, untilMs: clockMs + begin.leaseMs } };
    if (event.clockMs > begin.clockMs + begin.leaseMs / 10) first ??= altered;
    return altered;
  });
  return { events: result, altered: first ?? begin };
};

export const leaseMutants: Readonly<Record<string, LeaseAlteration>> = {
  'an acknowledgement of an older leadership counts': alter('HandleHeartbeatAck', ({ ballot }) => ({
    ballot: earlier(ballot),
  })),
  'an acknowledgement counts from when it came': alter(
    'HandleHeartbeatAck',
    ({ from, clockMs, lease }) => ({
      sentAtMs: clockMs,
      lease: { ...lease, acked: lease.acked.map(([peer, at]) => [peer, peer === from ? clockMs : at]) },
    }),
    ({ sentAtMs, clockMs }) => sentAtMs < clockMs - 1,
  ),
  'an answer that was refused leaves': answersRefused,
  'an answer rests on a lease of another configuration': alter(
    'AnswerRead',
    ({ lease }) => ({ lease: { ...lease!, configuration: lease!.configuration - 1 } }),
    (event) => isHeld(event) && (event.lease?.configuration ?? 0) > 1,
  ),
  'a lease is longer than what was acknowledged allows': alter(
    'AnswerRead',
    ({ lease }) => ({ lease: { ...lease!, untilMs: Number(lease!.untilMs) + 1 } }),
    isHeld,
  ),
  'an answer is of another leadership than its replica leads in': alter('RunRead', ({ leadership }) => ({
    leadership: earlier(leadership),
  })),
  'an answer leaves a replica that does not lead': alter('AnswerRead', () => ({ lease: null })),
  'a promise to another is given while the word to a leader counts': promisesInGrant,
  'a follower gives its word for less than a lease': alter('HandleHeartbeat', ({ grant }) => ({
    grant: { ...grant, untilMs: grant.untilMs - 1 },
  })),
  'a follower gives its word to another than the leader': alter('HandleHeartbeat', ({ grant, replica }) => ({
    grant: { ...grant, to: replica },
  })),
  'a replica that begins does not wait': alter('Restart', ({ clockMs, grant }) => ({
    grant: { ...grant, untilMs: clockMs },
  })),
  'a follower hears what its leader never sent': alter('HandleHeartbeat', ({ sentAtMs }) => ({
    sentAtMs: sentAtMs - 1_000_000,
  })),
  'a follower hears a leader of a lower ballot than it promised': alter('HandleHeartbeat', ({ ballot }) => ({
    ballot: { ...ballot, round: 0 },
  })),
  'a leader counts by another configuration than the newest': alter(
    'Lead',
    ({ lease }) => ({ lease: { ...lease, configuration: lease.configuration - 1 } }),
    ({ lease }) => lease.configuration > 1,
  ),
  'a clock runs slower than it may': slowClock,
};
