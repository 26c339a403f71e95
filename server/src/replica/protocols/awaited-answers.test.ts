import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { AwaitedAnswers } from './awaited-answers.ts';

const slot = 4 as Slot;
const epoch = { round: 1, replica: 'r1' as ReplicaId };

it('several that took effect at one slot are all told when that has its level', () => {
  const answers = new AwaitedAnswers(1_000);
  const told: string[] = [];
  answers.when(slot, epoch, 0, (outcome) => told.push(`own ${outcome}`));
  answers.when(slot, epoch, 1, (outcome) => told.push(`waited ${outcome}`));
  expect(told).toEqual([]);
  answers.tell(slot, epoch, 'acknowledged');
  expect(told).toEqual(['own acknowledged', 'waited acknowledged']);
});

it('what is ordered anew in another epoch gives up what waited', () => {
  const answers = new AwaitedAnswers(1_000);
  const told: string[] = [];
  answers.when(slot, epoch, 0, (outcome) => told.push(outcome));
  answers.when(slot, { ...epoch, round: 2 }, 1, (outcome) => told.push(`new ${outcome}`));
  expect(told).toEqual(['unacknowledged']);
});
