import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { Intake } from './intake.ts';
import { ThreadShare } from './thread-share.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let nowMs = 0;
/** So long the thread computes. */
const work = (ms: number): void => void (nowMs += ms);
const newShare = (): ThreadShare => new ThreadShare(() => nowMs);

/** What still waits at the end of a test is of no use. */
const all: Fed[] = [];
afterEach(async () => {
  for (const { intake } of all.splice(0)) intake.drop();
  await nextTurn();
  await nextTurn();
});

interface Fed {
  readonly socket: PassThrough;
  readonly intake: Intake;
  readonly pieces: Buffer[];
}

/** `takes`: what each piece costs. */
function feed(share: ThreadShare, takes: (piece: Buffer) => void = () => undefined): Fed {
  const socket = new PassThrough();
  const pieces: Buffer[] = [];
  const intake = new Intake(socket, share, (piece) => {
    pieces.push(Buffer.from(piece));
    takes(piece);
  });
  socket.on('data', (chunk: Buffer) => intake.add(chunk));
  const fed = { socket, intake, pieces };
  all.push(fed);
  return fed;
}

const bytesOf = ({ pieces }: Fed): number => pieces.reduce((sum, { length }) => sum + length, 0);
const counted = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => at & 0xff));

it('what is cheap is worked off at once, in ever larger pieces', () => {
  const fed = feed(newShare());
  fed.intake.add(counted(200_000));
  expect(Buffer.concat(fed.pieces)).toEqual(counted(200_000));
  expect(fed.pieces.length).toBeLessThan(12);
});

it('what is dear is worked off in smaller pieces, in its order, a turn after the other, and nothing is read meanwhile', async () => {
  const fed = feed(newShare(), (piece) => work(piece.length / 500));
  fed.intake.add(counted(40_000));
  expect(bytesOf(fed)).toBeLessThan(20_000);
  expect(fed.socket.isPaused()).toBe(true);
  let turns = 0;
  for (; bytesOf(fed) < 40_000; turns += 1) await nextTurn();
  expect(turns).toBeGreaterThan(2);
  expect(fed.pieces.at(-1)!.length).toBeLessThanOrEqual(1_024);
  expect(Buffer.concat(fed.pieces)).toEqual(counted(40_000));
  expect(fed.socket.isPaused()).toBe(false);
});

it('whoever comes while others are busy is next, however many there are', async () => {
  const share = newShare();
  const busy = Array.from({ length: 50 }, () => feed(share, () => work(3)));
  for (const { intake } of busy) intake.add(counted(64 * 1_024));
  await nextTurn();
  const fed = feed(share);
  fed.intake.add(counted(2_000));
  expect(bytesOf(fed)).toBe(0);
  await nextTurn();
  await nextTurn();
  expect(bytesOf(fed)).toBe(2_000);
});

it('a small chunk waits for nobody but what came before it', async () => {
  const share = newShare();
  const fed = feed(share, (piece) => work(piece.length));
  fed.intake.add(counted(10));
  expect(bytesOf(fed)).toBe(10);
  fed.intake.add(counted(20_000));
  fed.intake.add(counted(10));
  const seen = bytesOf(fed);
  expect(seen).toBeLessThan(20_000);
  while (bytesOf(fed) < 20_020) await nextTurn();
  expect(Buffer.concat(fed.pieces)).toEqual(Buffer.concat([counted(10), counted(20_000), counted(10)]));
});

it('what comes while a small chunk is worked off, or stops it, is worked off behind it', async () => {
  const share = newShare();
  const seen: string[] = [];
  const intake = new Intake(new PassThrough(), share, (piece) => {
    seen.push(piece.toString());
    if (seen.length > 1) return;
    intake.pause('waiting');
    intake.add(Buffer.from('b'));
  });
  intake.add(Buffer.from('a'));
  await nextTurn();
  expect(seen).toEqual(['a']);
  intake.whenEmpty(() => seen.push('empty'));
  intake.resume('waiting');
  await nextTurn();
  await nextTurn();
  expect(seen).toEqual(['a', 'b', 'empty']);
});

it('each of those that are busy has its turn', async () => {
  const share = newShare();
  const busy = Array.from({ length: 8 }, () => feed(share, () => work(3)));
  for (const { intake } of busy) intake.add(counted(64 * 1_024));
  for (let turns = 0; turns < 12; turns += 1) await nextTurn();
  expect(Math.min(...busy.map(({ pieces }) => pieces.length))).toBeGreaterThan(0);
});

it('nothing is worked off while it is stopped, and goes on where it was', async () => {
  const fed = feed(newShare(), () => work(3));
  fed.intake.add(counted(20_000));
  fed.intake.pause('waiting');
  const before = bytesOf(fed);
  for (let turns = 0; turns < 5; turns += 1) await nextTurn();
  expect(bytesOf(fed)).toBe(before);
  fed.intake.resume('waiting');
  while (bytesOf(fed) < 20_000) await nextTurn();
  expect(Buffer.concat(fed.pieces)).toEqual(counted(20_000));
});

it('a piece that stops it is the last', () => {
  const share = newShare();
  const fed: Fed = feed(share, () => fed.intake.pause('full'));
  fed.intake.add(counted(64 * 1_024));
  expect(fed.pieces).toHaveLength(1);
});

it('what waits when the socket ends is worked off at once; what is dropped never is', async () => {
  const [ended, dropped] = [feed(newShare(), () => work(3)), feed(newShare(), () => work(3))];
  ended.intake.add(counted(20_000));
  ended.intake.flush();
  expect(Buffer.concat(ended.pieces)).toEqual(counted(20_000));
  dropped.intake.add(counted(20_000));
  const before = bytesOf(dropped);
  dropped.intake.drop();
  for (let turns = 0; turns < 5; turns += 1) await nextTurn();
  expect(bytesOf(dropped)).toBe(before);
});
