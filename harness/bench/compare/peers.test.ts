import { expect, it } from 'vitest';
import { heeding } from '../interruptible.ts';
import { unlessPeerFails } from './peers.ts';
import type { System } from './systems/system.ts';

const system = (isPeer: boolean): System => ({
  id: isPeer ? 'pgpool' : 'native',
  label: 'a system',
  engine: 'postgres',
  tablesOf: 'native',
  runs: () => true,
  isPeer,
  client: () => Promise.reject(new Error('nobody is there')),
  doors: () => Promise.resolve([]),
  databases: () => Promise.resolve([]),
  parts: () => Promise.resolve([]),
});

function attempt(isPeer: boolean, signal: AbortSignal): { done: Promise<unknown>; reasons: string[] } {
  const reasons: string[] = [];
  const who = system(isPeer);
  const telling = { signal, progress: () => undefined };
  const done = unlessPeerFails(
    who,
    telling,
    () => who.client(),
    (reason) => reasons.push(reason),
  );
  return { done, reasons };
}

it('what a peer fails at is told, and is not the end', async () => {
  const { done, reasons } = attempt(true, new AbortController().signal);
  expect(await done).toBeNull();
  expect(reasons).toEqual(['nobody is there']);
});

it('what any other system fails at is the end', async () => {
  const { done, reasons } = attempt(false, new AbortController().signal);
  await expect(done).rejects.toThrow('nobody is there');
  expect(reasons).toEqual([]);
});

it('a benchmark that is being ended blames no peer', async () => {
  const { done, reasons } = attempt(true, AbortSignal.abort(new Error('ended')));
  await expect(done).rejects.toThrow('ended');
  expect(reasons).toEqual([]);
});

it('who never answers keeps no benchmark from ending', async () => {
  const abort = new AbortController();
  const ending = heeding(abort.signal, new Promise(() => undefined), 10);
  abort.abort(new Error('ended'));
  await expect(ending).rejects.toThrow('ended');
});

it('work that heeds the signal ends with its own words, and work that is done is done', async () => {
  const abort = new AbortController();
  expect(await heeding(abort.signal, Promise.resolve(1), 10)).toBe(1);
  abort.abort(new Error('ended'));
  await expect(heeding(abort.signal, Promise.reject(new Error('my own')), 1000)).rejects.toThrow('my own');
});
