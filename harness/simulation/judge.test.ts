import { describe, expect, it } from 'vitest';
import type { Entry } from '../../server/src/multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord } from '../../server/src/multipaxos/types/records.ts';
import { Judge } from './judge.ts';
import { foundingConfiguration } from './options.ts';
import { RuleBroken } from './rules.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as unknown as [ReplicaId, ReplicaId, ReplicaId];
const group = 'g1' as GroupId;
const slot = (value: number): Slot => value as Slot;
const ballot = (round: number, replica: ReplicaId): Ballot => ({ round, replica });

function command(request: number): Entry {
  return { kind: 'command', group, proposal: { client: 'c', request }, payload: new Uint8Array(1) };
}

function vote(at: number, of: Ballot, request: number): LogRecord {
  return { kind: 'vote', slot: slot(at), ballot: of, entry: command(request) };
}

function newJudge(): Judge {
  return new Judge(foundingConfiguration(3), 1);
}

function choose(judge: Judge, at: number, request: number): void {
  for (const replica of [r1, r2]) judge.recordIsDurable(replica, vote(at, ballot(1, r1), request));
}

function ruleOf(action: () => void): string {
  try {
    action();
  } catch (error) {
    if (error instanceof RuleBroken) return error.rule;
    throw error;
  }
  return 'none';
}

describe('the judge', () => {
  it('takes an entry for chosen when a majority has it on disk in one ballot', () => {
    const judge = newJudge();
    judge.recordIsDurable(r1, vote(1, ballot(1, r1), 1));
    judge.recordIsDurable(r2, vote(1, ballot(2, r2), 1));
    judge.recordIsDurable(r1, vote(1, ballot(1, r1), 1));
    expect(judge.counts.chosen).toBe(0);
    judge.recordIsDurable(r3, vote(1, ballot(2, r2), 1));
    expect(judge.counts.chosen).toBe(1);
  });

  it('notices two entries chosen in one slot', () => {
    const judge = newJudge();
    choose(judge, 1, 1);
    judge.recordIsDurable(r2, vote(1, ballot(2, r2), 2));
    expect(ruleOf(() => judge.recordIsDurable(r3, vote(1, ballot(2, r2), 2)))).toBe('Agreement');
  });

  it('notices a vote below a promise that was revealed', () => {
    const judge = newJudge();
    judge.messageLeaves(r1, {
      kind: 'Promise',
      group,
      ballot: ballot(5, r2),
      commitPoint: slot(0),
      votes: [],
      configuration: foundingConfiguration(3),
    });
    expect(ruleOf(() => judge.recordIsDurable(r1, vote(1, ballot(4, r3), 1)))).toBe('PromiseKept');
    expect(ruleOf(() => judge.recordIsDurable(r1, vote(1, ballot(5, r2), 1)))).toBe('none');
  });

  it('notices a report of what is not chosen, out of order, or not on disk', () => {
    const judge = newJudge();
    choose(judge, 1, 1);
    judge.processBegins(r1, slot(0));
    expect(ruleOf(() => judge.reports(r1, slot(2), 'c/2', true))).toBe('ReportedInOrder');
    expect(ruleOf(() => judge.reports(r1, slot(1), 'c/2', true))).toBe('OnlyChosenIsReported');
    judge.processBegins(r1, slot(0));
    expect(ruleOf(() => judge.reports(r1, slot(1), 'c/1', false))).toBe('ChosenIsDurable');
    judge.processBegins(r1, slot(0));
    expect(ruleOf(() => judge.reports(r1, slot(1), 'c/1', true))).toBe('none');
    expect(ruleOf(() => judge.reports(r1, slot(1), 'c/1', true))).toBe('ReportedInOrder');
  });

  it('notices databases that apply something else, or the same proposal in different slots', () => {
    const judge = newJudge();
    choose(judge, 1, 1);
    choose(judge, 2, 1);
    expect(ruleOf(() => judge.applies(r1, slot(1), 'c/2', slot(1)))).toBe('AppliedAlike');
    judge.applies(r1, slot(1), 'c/1', slot(1));
    expect(ruleOf(() => judge.applies(r2, slot(2), 'c/1', slot(2)))).toBe('AppliedAlike');
    expect(ruleOf(() => judge.applies(r2, slot(2), 'c/1', slot(1)))).toBe('none');
  });

  it('notices a read that misses what had ended before it began', () => {
    const judge = newJudge();
    choose(judge, 1, 1);
    judge.applies(r1, slot(1), 'c/1', slot(1));
    const concurrent = judge.begins(0);
    judge.writeAcknowledged(judge.begins(0), 'c/1');
    expect(ruleOf(() => judge.readAnswered(concurrent, null))).toBe('none');
    expect(ruleOf(() => judge.readAnswered(judge.begins(0), null))).toBe('Linearizable');
    expect(ruleOf(() => judge.readAnswered(judge.begins(0), 'c/9'))).toBe('Linearizable');
  });

  it('notices a write that took effect before one that had ended when it began', () => {
    const judge = newJudge();
    for (const at of [1, 2]) {
      choose(judge, at, at);
      judge.applies(r1, slot(at), `c/${at}`, slot(at));
    }
    judge.writeAcknowledged(judge.begins(0), 'c/2');
    expect(ruleOf(() => judge.writeAcknowledged(judge.begins(0), 'c/1'))).toBe('Linearizable');
  });

  it('notices an acknowledged write that a database lacks at the end', () => {
    const judge = newJudge();
    choose(judge, 1, 1);
    judge.applies(r1, slot(1), 'c/1', slot(1));
    judge.writeAcknowledged(judge.begins(0), 'c/1');
    expect(ruleOf(() => judge.databaseAtEnd(r1, new Map([['c/1', slot(1)]])))).toBe('none');
    expect(ruleOf(() => judge.databaseAtEnd(r2, new Map()))).toBe('AcknowledgedIsKept');
    expect(ruleOf(() => judge.writeAcknowledged(judge.begins(0), 'c/7'))).toBe('AcknowledgedIsKept');
  });

  it('notices two lease holders', () => {
    const judge = newJudge();
    expect(ruleOf(() => judge.leaseHolders([r1]))).toBe('none');
    expect(ruleOf(() => judge.leaseHolders([r1, r3]))).toBe('OneLeaseHolder');
  });
});
