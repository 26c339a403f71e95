import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import type { ControlMessage, DataDigest } from '../../ports/control.ts';
import { Verification, type VerificationOptions } from './verification.ts';

const ids = ['r1', 'r2', 'r3', 'r4', 'r5'] as ReplicaId[];
const [r1, r2, r3, r4, r5] = ids as [ReplicaId, ReplicaId, ReplicaId, ReplicaId, ReplicaId];
type Differs = Parameters<VerificationOptions['onDiffers']>;

function verificationOf(self: ReplicaId) {
  const sent: [ReplicaId, ControlMessage][] = [];
  const differed: Differs[] = [];
  const verification: Verification = new Verification({
    self,
    run: 'run',
    digests: () => null,
    transport: { sendControl: (to, message) => sent.push([to, message]), connected: () => ids },
    leadership: () => ({ serving: self === r1, leader: r1 }),
    propose: () => Promise.resolve({ code: 'chosen', slot: 9 as Slot, label: '' }),
    members: () => ({ all: ids, voters: ids }),
    nowMs: () => 0,
    timeoutMs: 1000,
    logger: pino({ level: 'silent' }),
    onResult: () => {},
    onDiffers: (...what) => differed.push(what),
  });
  return { verification, sent, differed };
}

const digest = (content: string): DataDigest => ({
  slot: 9 as Slot,
  objects: [{ kind: 'table', name: 'a', rows: 1, digest: content }],
});

it('a verdict names those that have what the majority has, and nobody else', async () => {
  const leader = verificationOf(r1);
  const check = 'r1.run/1';
  const comparing = leader.verification.compare(true);
  const report = (from: ReplicaId, content: DataDigest | null, reason = ''): void =>
    leader.verification.onReport(from, { kind: 'VerifyReport', check, digest: content, reason });
  // Two differ, in different ways, and one of them says so itself.
  for (const id of [r1, r3, r5]) report(id, digest('x'));
  report(r2, digest('y'));
  report(r4, null, 'fenced: a row is missing');
  expect(await comparing).toMatchObject({ ok: true });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(leader.sent.map(([to, message]) => [to, 'equal' in message ? message.equal : null])).toEqual([
    [r2, [r1, r3, r5]],
    [r4, [r1, r3, r5]],
  ]);
  leader.verification.stop();
});

it('who is told that it differs knows whom to copy from', () => {
  const { verification, differed } = verificationOf(r2);
  verification.hooks.onVerifyGivenUp('c', 9 as Slot, 'told later');
  const verdict = {
    kind: 'VerifyVerdict',
    check: 'c',
    slot: 9 as Slot,
    differing: ['table a'],
    repair: true,
  } as const;
  verification.onVerdict({ ...verdict, equal: [r1, r3, r5] });
  const reason = "at slot 9 its data differed from the majority's: table a";
  expect(differed).toEqual([[{ reason, equal: [r1, r3, r5] }, true]]);
  verification.stop();
});
