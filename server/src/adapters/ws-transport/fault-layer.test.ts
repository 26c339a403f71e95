/** Faults that are asked for on the links of real transports. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { connectedPair, endAll, heartbeat, pause, points, r1, r2, r3, start } from './testing/transports.ts';
import { eventually } from '../../ports/testing/eventually.ts';

afterEach(endAll);

describe('faults', () => {
  const fault = { from: r1, to: r2, cut: false, delayMs: 0, drop: 0, duplicate: 0 };

  it('a cut is one-way, and healing ends it', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, cut: true });
    expect(one.faults()).toEqual([{ ...fault, cut: true }]);
    one.send(r2, heartbeat(1));
    two.send(r1, heartbeat(2));
    await eventually(() => expect(points(one.received)).toEqual([2]));
    one.heal();
    one.send(r2, heartbeat(3));
    await eventually(() => expect(points(two.received)).toEqual([3]));
    expect(one.faults()).toEqual([]);
  });

  it('a delay holds messages back, in order, and a later cut takes them', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, delayMs: 200 });
    one.send(r2, heartbeat(1));
    one.send(r2, heartbeat(2));
    await pause(100);
    expect(two.received).toEqual([]);
    await eventually(() => expect(points(two.received)).toEqual([1, 2]));
    one.send(r2, heartbeat(3));
    one.setFault({ ...fault, cut: true });
    await pause(300);
    expect(points(two.received)).toEqual([1, 2]);
  });

  it('duplicates and drops about as many as asked for', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, duplicate: 1 });
    one.send(r2, heartbeat(1));
    await eventually(() => expect(points(two.received)).toEqual([1, 1]));
    one.setFault({ ...fault, drop: 0.5 });
    for (let count = 0; count < 1000; count += 1) one.send(r2, heartbeat(2));
    one.setFault(fault);
    one.send(r2, heartbeat(3));
    await eventually(() => expect(points(two.received)).toContain(3));
    expect(points(two.received).filter((point) => point === 2).length).toBeGreaterThan(400);
    expect(points(two.received).filter((point) => point === 2).length).toBeLessThan(600);
  });

  it('of several all are set or none, and only then others are healed', async () => {
    const { one } = await connectedPair();
    one.setFault({ ...fault, cut: true });
    const other = { ...fault, to: r3, drop: 0.5 };
    expect(() => one.setFaults([other, { ...fault, drop: 2 }], true)).toThrow(/probability/);
    expect(one.faults()).toEqual([{ ...fault, cut: true }]);
    one.setFaults([other], false);
    expect(one.faults()).toEqual([{ ...fault, cut: true }, other]);
    one.setFaults([other], true);
    expect(one.faults()).toEqual([other]);
  });

  it('can be set only on own links, within bounds, and only where faults are allowed', async () => {
    const { one } = await connectedPair();
    expect(() => one.setFault({ ...fault, from: r2, to: r1 })).toThrow(/not a link of r1/);
    expect(() => one.setFault({ ...fault, to: r1 })).toThrow(/not a link of r1/);
    expect(() => one.setFault({ ...fault, drop: 1.5 })).toThrow(/probability/);
    expect(() => one.setFault({ ...fault, delayMs: Number.NaN })).toThrow(/delayMs/);
    const strict = await start(r3, { r3: 0, r1: one.port }, { faultsAllowed: false });
    expect(() => strict.setFault({ ...fault, from: r3, to: r1 })).toThrow(/not allowed/);
  });

  it('wait for a replica that is not a peer yet', async () => {
    const { one } = await connectedPair();
    const waiting = { ...fault, to: 'r9' as ReplicaId, cut: true };
    one.setFault(waiting);
    expect(one.faults()).toEqual([waiting]);
  });
});
