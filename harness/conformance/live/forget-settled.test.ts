import { expect, it } from 'vitest';
import { recordGroup } from '../fresh/record-group.ts';
import { linearize } from '../trace/linearize.ts';
import { orderTrace } from '../trace/read-trace.ts';
import type { SpecMessage } from '../trace/spec-message.ts';
import { forgetSettled } from './forget-settled.ts';

const { state } = linearize(orderTrace(await recordGroup(14)), () => {});
const settled = Math.min(...[...state.replicas.values()].map(({ commitPoint }) => commitPoint));
const kept = (type: SpecMessage['type']): SpecMessage[] =>
  [...state.sent.values()].flatMap(({ message }) => (message.type === type ? [message] : []));

it('what was sent of settled slots long ago is forgotten, what is chosen and who told of a configuration is not', () => {
  const [chosen, all] = [kept('CatchUpReply').length, state.sent.size];
  expect(settled).toBeGreaterThan(3);
  expect(forgetSettled(state, 0)).toBe(0);
  const forgotten = forgetSettled(state, Number.POSITIVE_INFINITY);
  expect(forgotten).toBeGreaterThan(settled);
  expect(state.sent.size).toBe(all - forgotten);
  expect(kept('CatchUpReply')).toHaveLength(chosen);
  for (const message of [...kept('Accept'), ...kept('Accepted')])
    expect('slot' in message && message.slot).toBeGreaterThan(settled);
  const told = kept('Heartbeat').flatMap((one) =>
    one.type === 'Heartbeat' ? (one.configuration?.version ?? []) : [],
  );
  expect(told).toEqual(expect.arrayContaining([...state.tellers.keys()]));
});
