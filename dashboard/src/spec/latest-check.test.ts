import { expect, it } from 'vitest';
import type { Verdict } from './check-protocol.ts';
import { type Checked, latestCheck, type Subject } from './latest-check.ts';

const subject = (title: string): Subject => ({ title, isOfPage: true, events: [] });

/** Checks that are told by hand what they find, as a Worker would, also once they are stopped. */
function workers() {
  const begun: {
    stopped: boolean;
    progress(done: number): void;
    settle(verdict: Verdict): Promise<void>;
    fail(message: string): Promise<void>;
  }[] = [];
  const shown: Checked[] = [];
  const latest = latestCheck(
    (_, onProgress) => {
      const { promise, resolve, reject } = newPromise<Verdict>();
      const worker = {
        stopped: false,
        progress: (done: number) => onProgress(done, 9),
        async settle(verdict: Verdict) {
          resolve(verdict);
          await promise;
        },
        async fail(message: string) {
          reject(new Error(message));
          await promise.catch(() => undefined);
        },
      };
      begun.push(worker);
      return { verdict: promise, stop: () => void (worker.stopped = true) };
    },
    (checked) => void shown.push(checked),
  );
  const last = (): unknown[] => [shown.at(-1)?.title, shown.at(-1)?.state];
  return { begun, latest, last };
}

function newPromise<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

const verdict: Verdict = { layers: [], leftOut: null };

it('a check tells how far it is, and its verdict or why there is none', async () => {
  const { begun, latest, last } = workers();
  latest.check(subject('a'));
  expect(last()).toEqual(['a', { kind: 'running', done: 0, all: 0 }]);
  begun[0]!.progress(4);
  expect(last()).toEqual(['a', { kind: 'running', done: 4, all: 9 }]);
  await begun[0]!.settle(verdict);
  expect(last()).toEqual(['a', { kind: 'done', verdict }]);
  latest.check(subject('b'));
  await begun[1]!.fail('no memory');
  expect(last()).toEqual(['b', { kind: 'failed', message: 'no memory' }]);
});

it('what a stopped check had said already does not stand in the place of the next one', async () => {
  const { begun, latest, last } = workers();
  latest.check(subject('a'));
  latest.check(subject('b'));
  expect(begun.map(({ stopped }) => stopped)).toEqual([true, false]);
  begun[0]!.progress(5);
  expect(last()).toEqual(['b', { kind: 'running', done: 0, all: 0 }]);
  await begun[0]!.settle(verdict);
  expect(last()).toEqual(['b', { kind: 'running', done: 0, all: 0 }]);
});

it('one that was stopped, as when a view is mounted twice, can be begun again', async () => {
  const { begun, latest, last } = workers();
  latest.check(subject('a'));
  latest.stop();
  latest.check(subject('a'));
  await begun[1]!.settle(verdict);
  expect(last()).toEqual(['a', { kind: 'done', verdict }]);
});
