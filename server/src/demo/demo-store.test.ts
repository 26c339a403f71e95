import { describe, expect, it } from 'vitest';
import { exitCodes } from '../main/errors.ts';
import { type DemoStore, requireStore, segmentStore, settleStore, type StoreWish } from './demo-store.ts';

const inZooKeeper: DemoStore = { kind: 'zookeeper', servers: ['zk1:2181'], root: '/barista-1' };

describe('the log store of a demo', () => {
  it('is files unless ZooKeeper is asked for', () => {
    expect(settleStore('/d', null, null)).toEqual({ kind: 'segment' });
    expect(settleStore('/d', null, { kind: 'segment' })).toEqual({ kind: 'segment' });
  });

  it('in ZooKeeper has a root of its own in each directory', () => {
    const wish: StoreWish = { kind: 'zookeeper', servers: ['zk1:1', 'zk2:2'] };
    const [one, other] = [settleStore('/d', null, wish), settleStore('/e', null, wish)];
    expect(one).toMatchObject({ kind: 'zookeeper', servers: ['zk1:1', 'zk2:2'] });
    expect(one).not.toEqual(other);
    expect(settleStore('/d', null, { kind: 'zookeeper', servers: null })).toMatchObject({
      servers: ['127.0.0.1:2181'],
    });
  });

  it('stays what it was', () => {
    for (const store of [segmentStore, inZooKeeper]) expect(settleStore('/d', store, null)).toEqual(store);
    expect(settleStore('/d', segmentStore, { kind: 'segment' })).toEqual(segmentStore);
    expect(settleStore('/d', inZooKeeper, { kind: 'zookeeper', servers: null })).toEqual(inZooKeeper);
  });

  it('may be a ZooKeeper that has moved', () => {
    const moved = settleStore('/d', inZooKeeper, { kind: 'zookeeper', servers: ['zk9:2181'] });
    expect(moved).toEqual({ ...inZooKeeper, servers: ['zk9:2181'] });
  });

  it.each([
    [segmentStore, inZooKeeper, /\/d holds a cluster whose logs are in files.*in ZooKeeper.*--data-dir/],
    [inZooKeeper, segmentStore, /\/d holds a cluster whose logs are in ZooKeeper.*in files.*--data-dir/],
  ])('is never another kind than %j', (remembered, wish, message) => {
    expect(() => settleStore('/d', remembered, wish)).toThrow(
      expect.objectContaining({ exitCode: exitCodes.usage, message: expect.stringMatching(message) }),
    );
  });

  it('in files needs no server', async () => {
    await expect(requireStore(segmentStore, true)).resolves.toBeUndefined();
  });
});
