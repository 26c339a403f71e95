import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceConfiguration, TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { contradictionIn } from './contradictions.ts';
import { orderTrace, type ConsensusEvent } from './read-trace.ts';

/** With wiped logs, copied databases and changes of the members. */
const events = await recordGroup(22, 'losses');
/** Some events are in few runs: more of these are recorded until there is one. */
const runs: (readonly TraceEvent[])[] = [events];
const runsMax = 100;
const consensusOf = (run: readonly TraceEvent[]): ConsensusEvent[] =>
  run.filter((event) => event.layer === 'consensus');
const consensus = consensusOf(events);

async function runWith(
  applies: (event: ConsensusEvent) => boolean,
): Promise<{ readonly run: readonly TraceEvent[]; readonly target: ConsensusEvent }> {
  for (let index = 0; index < runsMax; index += 1) {
    const run = (runs[index] ??= await recordGroup(22 + index, 'losses'));
    const target = consensusOf(run).find(applies);
    if (target !== undefined) return { run, target };
  }
  throw new Error('no run has an event to alter');
}

/** The first event that applies, altered: why the trace contradicts itself, and whether it is there that it does. */
async function contradicted(
  applies: (event: ConsensusEvent) => boolean,
  alter: (event: ConsensusEvent) => ConsensusEvent,
): Promise<{ readonly reason: string | null; readonly isThere: boolean }> {
  const { run, target } = await runWith(applies);
  const altered = alter(target);
  const found = contradictionIn(orderTrace(run.map((event) => (event === target ? altered : event))));
  return { reason: found?.reason ?? null, isThere: found?.event === altered };
}

const hears = (kind: TraceMessage['kind']) => (event: ConsensusEvent) => event.message?.kind === kind;
const sends = (name: ConsensusEvent['name'], kind: TraceMessage['kind']) => (event: ConsensusEvent) =>
  event.name === name && (event.sent ?? []).some(({ message }) => message.kind === kind);

const withMessage = (alter: (message: TraceMessage) => object) => (event: ConsensusEvent) => ({
  ...event,
  message: alter(event.message!) as TraceMessage,
});
const withSent =
  (alter: (sent: NonNullable<ConsensusEvent['sent']>[number]) => object) => (event: ConsensusEvent) =>
    ({ ...event, sent: event.sent!.map(alter) }) as ConsensusEvent;
const withTold = (alter: (told: TraceConfiguration) => TraceConfiguration) => (event: ConsensusEvent) => ({
  ...event,
  configurations: event.configurations!.map(alter),
});
const without = (field: 'message' | 'configurations') => (event: ConsensusEvent) =>
  Object.fromEntries(Object.entries(event).filter(([key]) => key !== field)) as unknown as ConsensusEvent;
const lower = (slot: Slot | undefined): Slot => ((slot ?? 0) - 1) as Slot;
const nobody = 'r9' as ReplicaId;

describe('what is recorded', () => {
  it('in simulated runs does not contradict itself', async () => {
    for (const mix of ['default', 'losses'] as const) {
      for (let seed = 1; seed <= 4; seed++) {
        const found = contradictionIn(orderTrace(await recordGroup(seed, mix)));
        expect({ mix, seed, found }).toEqual({ mix, seed, found: null });
      }
    }
  });
});

describe('an event that no action tells', () => {
  it('is told by what is missing, or has no place in it', async () => {
    const gone = without('message');
    const plain = (event: ConsensusEvent): boolean =>
      hears('Accept')(event) && event.configurations === undefined;
    expect(await contradicted(plain, gone)).toEqual({ reason: 'it has no message', isThere: true });
    const based = (event: ConsensusEvent): ConsensusEvent => ({ ...event, base: 3 as Slot });
    expect(await contradicted(plain, based)).toEqual({ reason: 'it has base', isThere: true });
    const unfounded = (event: ConsensusEvent): ConsensusEvent => ({ ...event, reason: 'removed' });
    expect((await contradicted(({ name }) => name === 'HandleReject', unfounded)).reason).toBe(
      'removed is no reason for it',
    );
  });

  it('handles a message of another kind, or one that lacks a field', async () => {
    const other = withMessage((message) => ({ ...message, kind: 'Promise' }));
    expect((await contradicted(hears('Heartbeat'), other)).reason).toBe('it does not handle Promise');
    const partly = withMessage(({ kind, ballot }) => ({ kind, ballot }));
    expect((await contradicted(hears('Prepare'), partly)).reason).toContain(
      'Prepare has ballot, kind in place of',
    );
    const others = withMessage((message) => ({ ...message, ballot: { ...message.ballot, replica: nobody } }));
    expect((await contradicted(hears('Heartbeat'), others)).reason).toContain(
      'the ballot of the Heartbeat is not',
    );
  });
});

describe('what is told of configurations', () => {
  const tells = ({ name, configurations = [] }: ConsensusEvent): boolean =>
    name === 'AdvanceCommitPoint' && configurations.length > 0;

  it('is told by whoever comes to know one', async () => {
    expect(await contradicted(tells, without('configurations'))).toMatchObject({ isThere: true });
  });

  it('is the same wherever it is told', async () => {
    const moved = withTold((told) => ({ ...told, slot: lower(told.slot) }));
    expect((await contradicted(tells, moved)).reason).toMatch(/others tell otherwise|not proposed so/);
    const joined = withTold((told) => ({ ...told, learners: [...told.learners, nobody] }));
    expect((await contradicted(tells, joined)).reason).toMatch(/others tell otherwise|not proposed so/);
  });

  it('changes one member at a time, wherever that is told', () => {
    const versions = new Set([2]);
    const joined = (told: TraceConfiguration): TraceConfiguration =>
      versions.has(told.version)
        ? { ...told, learners: [...told.learners, nobody, 'r8' as ReplicaId] }
        : told;
    const altered = events.map((event) =>
      event.layer === 'consensus' && event.configurations !== undefined ? withTold(joined)(event) : event,
    );
    expect(contradictionIn(orderTrace(altered))?.reason).toBe(
      'version 2 does not follow from the one before',
    );
  });
});

describe('what is sent', () => {
  it('goes to all, if it must', async () => {
    const unsent = (event: ConsensusEvent): ConsensusEvent => ({ ...event, sent: event.sent!.slice(1) });
    expect((await contradicted(sends('Propose', 'Accept'), unsent)).reason).toContain(
      'is not sent what was proposed',
    );
    const elsewhere = withSent((sent) => ({ ...sent, to: nobody }));
    expect((await contradicted(sends('Fsync', 'Prepare'), elsewhere)).reason).toBe(
      'a Prepare does not go to all voters',
    );
  });

  it('answers what was asked, with what was known then', async () => {
    const less = withSent(({ to, message }) => ({
      to,
      message: { ...message, commitPoint: lower(message.commitPoint) },
    }));
    expect(await contradicted(sends('HandleHeartbeat', 'HeartbeatAck'), less)).toMatchObject({
      isThere: true,
    });
    const votes = (event: ConsensusEvent): boolean =>
      sends('Fsync', 'Accepted')(event) && event.state.commitPoint > 3;
    expect((await contradicted(votes, less)).reason).toContain('that waited for this flush');
  });

  it('tells no less when it is told again', async () => {
    const again = (event: ConsensusEvent): ConsensusEvent => {
      const last = event.sent!.findLast(({ message }) => message.kind === 'Accepted')!;
      const message = { ...last.message, commitPoint: lower(last.message.commitPoint) };
      return { ...event, sent: [...event.sent!, { ...last, message }] };
    };
    const votes = sends('Fsync', 'Accepted');
    expect(await contradicted(votes, again)).toMatchObject({ isThere: true });
    expect((await contradicted(votes, again)).reason).toContain('of a vote from before it was given');
  });
});

/** The trace with the event twice, or without it; numbers are closed up. */
function repeated(target: ConsensusEvent, times: 0 | 2): string | null {
  const altered = events.flatMap((event): TraceEvent[] => {
    const isBehind = event.run === target.run && event.seq > target.seq;
    if (event !== target) return [isBehind ? { ...event, seq: event.seq + times - 1 } : event];
    return times === 0 ? [] : [event, { ...event, seq: event.seq + 1 }];
  });
  return contradictionIn(orderTrace(altered))?.reason ?? null;
}

describe('what is written', () => {
  it('is flushed once', () => {
    const flush = consensus.find(({ name, votes }) => name === 'Fsync' && votes !== undefined)!;
    expect(repeated(flush, 2)).toBe('it flushes what was not written');
  });

  it('holds back each answer for itself', () => {
    const prepare = consensus.find(({ name, sent }) => name === 'HandlePrepare' && sent === undefined)!;
    expect(repeated(prepare, 2)).toContain('does not get the answer that waited for this flush');
  });
});

describe('a run', () => {
  it('that is followed by another ends in a crash, if others do', () => {
    const crash = consensus.find(({ name }) => name === 'Crash')!;
    expect(repeated(crash, 0)).toBe('its run does not end in a crash, as others do');
  });

  it('restarts at its beginning alone', () => {
    expect(() => repeated(consensus[0]!, 2)).toThrow('restarts in the middle');
  });
});

describe('what is heard', () => {
  it('takes a follower as far as it tells', () => {
    const follows = ({ name, message }: ConsensusEvent): boolean =>
      name === 'HandleHeartbeat' && message?.kind === 'Heartbeat' && message.commitPoint! > 3;
    // With the configuration that its leader knew then.
    const before = withMessage((message) => ({ ...message, commitPoint: lower(message.commitPoint) }));
    const isFound = (event: ConsensusEvent): boolean => {
      const altered = events.map((one) => (one === event ? before(event) : one));
      return contradictionIn(orderTrace(altered))?.reason.includes('and goes further') === true;
    };
    expect(consensus.filter(follows).some(isFound)).toBe(true);
  });

  const less = withMessage((message) => ({ ...message, commitPoint: lower(message.commitPoint) }));

  it('was sent, or can have been: a sender was in the state that it tells', async () => {
    const more = withMessage((message) => ({ ...message, configuration: message.configuration! + 1 }));
    expect((await contradicted(hears('Heartbeat'), more)).reason).toContain(
      'was never in the state that it tells',
    );
    const fromBefore = (event: ConsensusEvent): boolean =>
      event.name === 'HandleReject' && event.message!.promised!.round > 1;
    const promised = withMessage((message) => ({ ...message, promised: { round: 90, replica: nobody } }));
    expect((await contradicted(fromBefore, promised)).reason).toContain(
      'was never in the state that it tells',
    );
  });

  it('tells no less than when it was sent first', async () => {
    const lead = (event: ConsensusEvent): boolean =>
      hears('Accept')(event) && event.message!.commitPoint! > 3;
    expect((await contradicted(lead, less)).reason).toContain('knew more when it proposed');
    const vote = (event: ConsensusEvent): boolean =>
      hears('Accepted')(event) && event.message!.commitPoint! > 3;
    expect((await contradicted(vote, less)).reason).toMatch(/knew more when it voted|never in the state/);
  });

  it('is known to whoever tells it', async () => {
    const learns = ({ name, from, replica }: ConsensusEvent): boolean =>
      name === 'LearnConfiguration' && from !== replica;
    expect((await contradicted(learns, (event) => ({ ...event, from: nobody }))).reason).toContain(
      'never knew version',
    );
  });
});
