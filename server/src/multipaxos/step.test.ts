import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ballotLabel } from './ballot.ts';
import { cloneState, createState, entryAt, InvariantViolation, step, type State } from './step.ts';
import {
  ballot,
  command,
  emptyLog,
  founding,
  group,
  newCandidate,
  newFollower,
  newServingLeader,
  promise,
  r1,
  r2,
  r3,
  slot,
  testConfig,
  vote,
} from './testing/one-core.ts';
import type { Effect, Input } from './types/effects.ts';
import type { Message } from './types/messages.ts';
import type { GroupId, ReplicaId } from './types/names.ts';
import type { LogRecord } from './types/records.ts';

const from = fc.constantFrom(r2, r3);
const small = fc.integer({ min: 0, max: 5 });

/** Any message that a correct or a confused peer could send, but for two entries in one slot and ballot. */
const anyMessage = fc
  .record({ sender: from, round: fc.integer({ min: 1, max: 4 }), low: small, high: small, kind: fc.nat(9) })
  .map(({ sender, round, low, high, kind }): [ReplicaId, Message] => {
    const of = ballot(round, kind % 2 === 0 ? sender : r1);
    const base = { group, ballot: of };
    const entries = Array.from({ length: high }, (_, index) =>
      command(`${round}${sender}${low + index + 1}`),
    );
    const messages: Message[] = [
      { ...base, kind: 'Prepare', commitPoint: slot(0) },
      { ...base, kind: 'Accept', firstSlot: slot(low + 1), entries, commitPoint: slot(0), sentAtMs: 0 },
      {
        ...base,
        kind: 'Heartbeat',
        commitPoint: slot(0),
        sentAtMs: 0,
        globalApplicationPointer: slot(0),
        configuration: founding,
      },
      { ...base, kind: 'Promise', commitPoint: slot(0), votes: [], configuration: founding },
      {
        ...base,
        kind: 'Accepted',
        firstSlot: slot(1),
        lastSlot: slot(high),
        commitPoint: slot(0),
        sentAtMs: 0,
      },
      { ...base, kind: 'PreVote' },
      { ...base, kind: 'PreVoteReply', granted: low > 1, configuration: founding },
      { ...base, kind: 'Reject', promised: ballot(round + low, sender) },
      {
        ...base,
        kind: 'HeartbeatAck',
        commitPoint: slot(0),
        sentAtMs: 0,
        durableApplicationPointer: slot(0),
      },
      { ...base, kind: 'CatchUpRequest', fromSlot: slot(1), toSlot: slot(high) },
    ];
    return [sender, messages[kind]!];
  });

const anyInputs = fc.array(
  fc.oneof(
    anyMessage.map(([sender, message]): Input => ({ kind: 'Receive', nowMs: 0, from: sender, message })),
    fc.constant<Input>({ kind: 'Tick', nowMs: 0, random: 0.3 }),
    fc.nat(20).map((seq): Input => ({ kind: 'Persisted', nowMs: 0, seq })),
    fc.constant<Input>({ kind: 'StepDown', nowMs: 0, reason: 'requested' }),
    fc.constant<Input>({
      kind: 'Propose',
      nowMs: 0,
      proposals: [{ proposal: { client: 'x', request: 1 }, payload: new Uint8Array(1) }],
    }),
  ),
  { maxLength: 60 },
);

/** Time passes by an eighth of an election timeout with each input. */
function run(state: State, inputs: readonly Input[], startMs: number): Effect[][] {
  return inputs.map((input, index) => step(state, { ...input, nowMs: startMs + index * 40 }).effects);
}

function keysOfRecord(record: LogRecord): string[] {
  if (record.kind === 'promise') return [`promise ${ballotLabel(record.ballot)}`];
  if (record.kind !== 'vote') return [];
  return [`promise ${ballotLabel(record.ballot)}`, `vote ${ballotLabel(record.ballot)} ${record.slot}`];
}

function keysRevealed(message: Message): string[] {
  const name = ballotLabel(message.ballot);
  if (message.kind === 'Promise' || message.kind === 'Prepare') return [`promise ${name}`];
  if (message.kind !== 'Accepted') return [];
  const count = message.lastSlot - message.firstSlot + 1;
  return Array.from({ length: count }, (_, index) => `vote ${name} ${message.firstSlot + index}`);
}

describe('step', () => {
  it('is deterministic: equal states and inputs give equal effects', () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const [left, right] = [1, 2].map(() => createState(testConfig(), emptyLog, 0, 0.5)) as [State, State];
        expect(run(left, inputs, 0)).toEqual(run(right, inputs, 0));
        expect(left).toEqual(right);
      }),
    );
  });

  it('never touches a clone', () => {
    fc.assert(
      fc.property(anyInputs, anyInputs, (before, after) => {
        const state = createState(testConfig(), emptyLog, 0, 0.5);
        run(state, before, 0);
        const clone = cloneState(state);
        const copy = cloneState(state);
        run(state, after, 10_000);
        expect(clone).toEqual(copy);
      }),
    );
  });

  it('numbers its persists in order, and reveals no promise or vote before its record is durable', () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const state = createState(testConfig(), emptyLog, 0, 0.5);
        const durable = new Set<string>();
        const waiting: string[][] = [];
        const seqs: number[] = [];
        const tooEarly: string[] = [];
        inputs.forEach((input, index) => {
          const flushed = input.kind === 'Persisted' ? Math.min(input.seq, waiting.length) : 0;
          for (const key of waiting.slice(0, flushed).flat()) durable.add(key);
          for (const effect of step(state, { ...input, nowMs: index * 40 }).effects) {
            if (effect.kind === 'persist') {
              seqs.push(effect.seq);
              waiting.push(effect.records.flatMap(keysOfRecord));
            }
            if (effect.kind === 'send') {
              tooEarly.push(...keysRevealed(effect.message).filter((key) => !durable.has(key)));
            }
          }
        });
        expect(tooEarly).toEqual([]);
        expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      }),
    );
  });

  it('keeps count of the bytes that it holds', () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const state = createState(testConfig(), emptyLog, 0, 0.5);
        run(state, inputs, 0);
        let tailBytes = 0;
        for (const held of state.log.values()) if (held.slot > state.commitPoint) tailBytes += held.bytes;
        expect(state.tailBytes).toBe(tailBytes);
      }),
    );
  });

  it('leaves the clone of a leader and of a candidate as they were', () => {
    const leader = newServingLeader();
    leader.propose('a');
    const candidate = newCandidate();
    const clones = [leader.state, candidate.state].map(cloneState);
    const copies = clones.map(cloneState);
    leader.accepted(r2, 2, 2);
    promise(candidate, r2, [vote(1, ballot(1, r2), 'a')]);
    expect(clones).toEqual(copies);
    expect(clones[0]!.log.get(slot(2))?.votes).toBe(0);
    expect(clones[1]!.candidacy?.votes.size).toBe(0);
  });

  it('never takes back how far the database is durable', () => {
    const core = newServingLeader();
    core.applied(1, 1);
    core.applied(1, 0);
    expect(core.state.durableApplied).toBe(1);
  });

  it('drops messages of another group and of strangers', () => {
    const core = newFollower();
    const before = cloneState(core.state);
    const accept = core.accept(ballot(1, r2), 1, [command('a')]);
    core.receive(r2, { ...accept, group: 'other' as GroupId });
    core.receive('r9' as ReplicaId, { ...accept, ballot: ballot(1, 'r9' as ReplicaId) });
    core.receive(r1, { ...accept, ballot: ballot(1, r1) });
    expect(core.effects).toEqual([]);
    expect(core.state).toEqual(before);
  });

  it('stops when the clock goes back', () => {
    const core = newFollower();
    core.nowMs -= 1;
    expect(() => core.tick()).toThrow(InvariantViolation);
  });

  it('tells a change of leadership once', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.receive(r2, core.accept(ballot(1, r2), 2, [command('b')]));
    expect(core.effectsOf('leadership')).toEqual([
      {
        kind: 'leadership',
        role: 'follower',
        ballot: ballot(1, r2),
        leader: r2,
        serving: false,
        reason: null,
      },
    ]);
    core.effects = [];
    core.tick(700);
    expect(core.effectsOf('leadership')).toMatchObject([{ leader: null }]);
  });

  it('lets go of entries that are chosen and applied, and keeps the others', () => {
    const core = newServingLeader();
    core.propose('a', 'b', 'c');
    core.fsync();
    core.accepted(r2, 2, 3);
    core.applied(2);
    expect([2, 3, 4].map((at) => entryAt(core.state, slot(at)) !== undefined)).toEqual([false, true, true]);
  });

  it('keeps a bounded number of chosen entries when the database does not follow', () => {
    const core = newServingLeader({ windowSlotsMax: 4 });
    for (let index = 0; index < 40; index += 1) {
      core.propose(`c${index}`);
      core.fsync();
      core.accepted(r2, index + 2, index + 2);
    }
    expect(core.state.commitPoint).toBe(41);
    expect(core.state.log.size).toBeLessThanOrEqual(4);
  });
});
