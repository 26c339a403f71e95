import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { ownPrefix, SessionSweep } from './session-sweep.ts';

const own = ownPrefix('r1' as ReplicaId);
const other = ownPrefix('r2' as ReplicaId);

function sweep() {
  const open = new Set<string>();
  const clients = new Set<string>();
  const closed: string[] = [];
  const looks = new SessionSweep({
    prefix: own,
    open: () => open,
    hasClient: (session) => clients.has(session),
    close: (session) => closed.push(session),
  });
  return { open, clients, closed, looks };
}

describe('sessions of an earlier life', () => {
  it('are closed when they were seen twice without a client', () => {
    const { open, closed, looks } = sweep();
    open.add(`${own}a`);
    looks.look();
    expect(closed).toEqual([]);
    looks.look();
    expect(closed).toEqual([`${own}a`]);
  });

  it('are not those of other replicas, nor those that have a client', () => {
    const { open, clients, closed, looks } = sweep();
    open.add(`${other}a`);
    open.add(`${own}b`);
    clients.add(`${own}b`);
    for (let look = 0; look < 3; look += 1) looks.look();
    expect(closed).toEqual([]);
  });

  it('are not those that are being opened in between', () => {
    const { open, clients, closed, looks } = sweep();
    open.add(`${own}a`);
    looks.look();
    clients.add(`${own}a`);
    looks.look();
    clients.delete(`${own}a`);
    looks.look();
    expect(closed).toEqual([]);
  });

  it('have names that tell replicas apart', () => {
    const names = Array.from({ length: 9 }, (_, index) => ownPrefix(`r${index + 1}` as ReplicaId));
    expect(new Set(names).size).toBe(9);
  });
});
