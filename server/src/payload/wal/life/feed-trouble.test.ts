import { expect, it } from 'vitest';
import { FeedTrouble } from './feed-trouble.ts';

it('a standby that leaves again and again, and takes nothing, is in trouble after five seconds', () => {
  const feed = new FeedTrouble(5_000);
  const told: boolean[] = [];
  for (let atMs = 0; atMs < 5_000; atMs += 500) {
    expect([atMs, feed.trouble(atMs)]).toEqual([atMs, null]);
    told.push(feed.left('the disk is full', atMs));
  }
  told.push(feed.left('the disk is full', 5_000));
  expect(feed.trouble(5_000)).toBe('PostgreSQL takes no WAL, and has left 11 times: the disk is full');
  expect(told.filter(Boolean)).toHaveLength(1);
  expect(feed.left('the disk is full', 60_000)).toBe(true);
  feed.took();
  expect([feed.trouble(60_001), feed.isInRow]).toEqual([null, false]);
});

it('a standby that leaves once, or takes something in between, is not', () => {
  const feed = new FeedTrouble(5_000);
  feed.left('it has connected again', 0);
  expect(feed.trouble(100_000)).toBeNull();
  for (let atMs = 0; atMs < 10_000; atMs += 1_000) {
    feed.left('it has connected again', atMs);
    feed.took();
  }
  expect(feed.trouble(10_000)).toBeNull();
});
