/** A leader that was replaced while it could do nothing: what it does in the moments until its PostgreSQL has ended. */
import { expect, it } from 'vitest';
import type { TraceEvent } from '../api/events.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { pause } from '../payload/pause.ts';
import { MemoryClient } from './testing/memory-client.ts';
import { MemoryGroup } from './testing/memory-group.ts';

it('takes what others have got chosen since for theirs: its PostgreSQL is told none of it', async () => {
  let watched: ReplicaId | null = null;
  const events: TraceEvent[] = [];
  const reported: number[] = [];
  const group = new MemoryGroup({
    replicas: 3,
    seed: 5,
    onReported: (member, position) => {
      if (member === watched) reported.push(position);
    },
    onEvent: (member, event) => {
      if (member === watched) events.push(event);
    },
  });
  await group.begin();
  const old = group.serving()!;
  const { server, timers } = old.process!;
  const stop = server.stop.bind(server);
  server.stop = (mode) => pause(timers, 5000).then(() => stop(mode));
  timers.stop();
  const isReplaced = (): boolean =>
    group.members.some((member) => member !== old && member.replica!.service.service().kind === 'here');
  expect(await group.time.passUntil(isReplaced, 20_000)).toBe(true);
  const client = new MemoryClient(group);
  const end = await group.time.until(
    client.transact({ reads: [], writes: [{ key: 'k', value: 'of the next leader' }] }),
  );
  expect(end.kind).toBe('done');

  watched = old.id;
  timers.goOn();
  const isDeposed = (): boolean => events.some(({ name }) => name === 'Depose');
  expect(await group.time.passUntil(isDeposed, 30_000)).toBe(true);
  // It knew of the next leader before its own PostgreSQL was stopped, and still does.
  expect(old.replica!.service.service()).toMatchObject({ kind: 'at' });
  await group.healthy(30_000);
  const deposed = events.findIndex(({ name }) => name === 'Depose');
  const told = events.slice(0, deposed).filter(({ layer }) => layer === 'apply');
  expect(told.map(({ name }) => name)).toEqual(expect.arrayContaining(['BeginLeadership', 'Feed']));
  expect(told.filter(({ name }) => name === 'Release')).toEqual([]);
  expect(reported).toEqual([]);
  expect(group.troubles).toEqual([]);
  await group.stop();
});
