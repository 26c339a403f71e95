import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { decodeBatch, encodeBatch } from './operation-batch.ts';
import type { Given } from '../protocols/protocol-host.ts';
import { Submissions, type Submitted } from './submissions.ts';

const r2 = 'r2' as ReplicaId;
const operation = (text: string): Uint8Array => Buffer.from(text);

function fixture(bounds: { operationsMax?: number; bytesMax?: number } = {}) {
  const time = new SimulatedTime();
  const proposed: string[] = [];
  const sent: string[][] = [];
  const answers: Submitted<string>[] = [];
  const state: { given: Given } = { given: { code: 'given' } };
  const submissions = new Submissions<string>({
    timers: time,
    propose: (bytes) => {
      if (state.given.code === 'given') proposed.push(Buffer.from(bytes).toString());
      return state.given;
    },
    send: (to, batch) => sent.push([to, ...decodeBatch(batch).map((bytes) => Buffer.from(bytes).toString())]),
    retryMs: 100,
    waitMs: 1000,
    operationsMax: bounds.operationsMax ?? 10,
    bytesMax: bounds.bytesMax ?? 1000,
    batchBytesMax: 8,
  });
  const submit = (text: string): void => {
    void submissions.submit(text, operation(text)).then((answer) => answers.push(answer));
  };
  return { time, proposed, sent, answers, state, submissions, submit };
}

describe('operations on their way into the log', () => {
  it('are proposed here by who proposes, and answered when they are executed', async () => {
    const { time, proposed, answers, submissions, submit } = fixture();
    submit('a');
    submit('b');
    await time.pass(1);
    expect(proposed).toEqual(['a', 'b']);
    submissions.executed('b', 'done');
    submissions.executed('b', 'again');
    await time.pass(1);
    expect(answers).toEqual([{ code: 'executed', result: 'done' }]);
  });

  it('that are asked for twice while they are under way are one, and both hear of it', async () => {
    const { time, proposed, answers, submissions, submit } = fixture({ operationsMax: 1 });
    submit('a');
    submit('a');
    await time.pass(1);
    expect(proposed).toEqual(['a']);
    submissions.executed('a', 'done');
    await time.pass(1);
    expect(answers).toEqual([
      { code: 'executed', result: 'done' },
      { code: 'executed', result: 'done' },
    ]);
    expect(submissions.isEmpty).toBe(true);
  });

  it('are sent to who proposes, several in one message, within its bound', async () => {
    const { time, sent, state, submit } = fixture();
    state.given = { code: 'elsewhere', to: r2 };
    for (const text of ['aaa', 'bbb', 'ccc']) submit(text);
    await time.pass(1);
    expect(sent).toEqual([
      [r2, 'aaa', 'bbb'],
      [r2, 'ccc'],
    ]);
  });

  it('are given again while they are not seen in the log, to whoever proposes then', async () => {
    const { time, sent, proposed, state, submit, submissions } = fixture();
    state.given = { code: 'elsewhere', to: r2 };
    submit('a');
    await time.pass(150);
    expect(sent).toEqual([
      [r2, 'a'],
      [r2, 'a'],
    ]);
    state.given = { code: 'given' };
    await time.pass(100);
    expect(proposed).toEqual(['a']);
    submissions.ordered('a', 7 as Slot);
    await time.pass(5000);
    expect(proposed).toEqual(['a']);
  });

  it('that are ordered wait as long as their execution takes', async () => {
    const { time, answers, submit, submissions } = fixture();
    submit('a');
    await time.pass(1);
    submissions.ordered('a', 7 as Slot);
    await time.pass(60_000);
    expect(answers).toEqual([]);
    submissions.executed('a', 'late');
    await time.pass(1);
    expect(answers).toEqual([{ code: 'executed', result: 'late' }]);
  });

  it('that are in a database which another replica has executed are unknown: none waits for ever', async () => {
    const { time, answers, submit, submissions } = fixture();
    for (const name of ['a', 'b', 'c']) submit(name);
    await time.pass(1);
    submissions.ordered('a', 7 as Slot);
    submissions.ordered('b', 9 as Slot);
    submissions.began(8 as Slot);
    await time.pass(1);
    expect(answers).toMatchObject([{ code: 'unknown' }]);
    submissions.executed('b', 'done');
    await time.pass(1);
    expect(answers.at(-1)).toEqual({ code: 'executed', result: 'done' });
  });

  it('wait for room', async () => {
    const { time, proposed, state, submit, submissions } = fixture();
    state.given = { code: 'full' };
    submit('a');
    submit('b');
    submissions.take(encodeBatch([operation('x')]));
    await time.pass(1);
    state.given = { code: 'given' };
    submissions.turn();
    await time.pass(1);
    expect(proposed).toEqual(['x', 'a', 'b']);
  });

  it('are refused if nobody ever had them, and unknown if somebody had', async () => {
    const { time, answers, state, submit } = fixture();
    state.given = { code: 'elsewhere', to: null };
    submit('a');
    await time.pass(1200);
    expect(answers).toMatchObject([{ code: 'refused' }]);
    state.given = { code: 'elsewhere', to: r2 };
    submit('b');
    await time.pass(1200);
    expect(answers).toMatchObject([{ code: 'refused' }, { code: 'unknown' }]);
  });

  it('are refused beyond what may wait, in number and in bytes', async () => {
    const { time, answers, submit } = fixture({ operationsMax: 2, bytesMax: 5 });
    submit('aaa');
    submit('bbb');
    submit('c');
    submit('d');
    await time.pass(1);
    expect(answers).toMatchObject([{ code: 'refused' }, { code: 'refused' }]);
  });

  it('of others are not kept where another proposes: these send them again', async () => {
    const { time, proposed, state, submissions } = fixture();
    state.given = { code: 'elsewhere', to: r2 };
    submissions.take(encodeBatch([operation('x')]));
    await time.pass(1);
    state.given = { code: 'given' };
    await time.pass(500);
    expect(proposed).toEqual([]);
  });

  it('of others wait within the same bounds', async () => {
    const { time, proposed, state, submissions } = fixture({ bytesMax: 5 });
    state.given = { code: 'full' };
    submissions.take(encodeBatch(['aaa', 'bbb', 'c'].map(operation)));
    await time.pass(1);
    submissions.take(encodeBatch([operation('dd'), operation('ee')]));
    await time.pass(1);
    state.given = { code: 'given' };
    submissions.turn();
    await time.pass(1);
    expect(proposed).toEqual(['aaa', 'dd']);
  });

  it('that were cut on the way are read as far as they are whole', () => {
    const batch = encodeBatch([operation('one'), operation('two')]);
    expect(
      decodeBatch(batch.subarray(0, batch.length - 1)).map((bytes) => Buffer.from(bytes).toString()),
    ).toEqual(['one']);
  });

  it('end when the replica stops', async () => {
    const { time, answers, submit, submissions } = fixture();
    submit('a');
    await time.pass(1);
    submissions.stop();
    await time.pass(1);
    expect(answers).toMatchObject([{ code: 'unknown' }]);
  });
});
