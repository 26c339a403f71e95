/** While the data of all replicas is compared nobody is shown more than what is compared. */
import { expect, it } from 'vitest';
import type { WalPayload } from '../payload/wal/wal-payload.ts';
import { MemoryGroup } from './testing/memory-group.ts';
import type { MemoryMember } from './testing/memory-member.ts';

const payloadOf = ({ process }: MemoryMember): WalPayload => process!.assembled!.payload;

/** Its client is not answered before it is chosen. */
async function write(leader: MemoryMember, key: string): Promise<void> {
  const client = await leader.process!.server.connect();
  await client.ask({ kind: 'append', key, value: 'v' });
  client.ask({ kind: 'commit' }).catch(() => undefined);
}

/** What its clients can see ends here. */
function shownTo(member: MemoryMember): number {
  const { shipper } = payloadOf(member).context;
  return shipper === null ? member.postgres.run!.standby!.replayed : shipper.releasedTo;
}

it('what is chosen behind the position of a comparison is shown on no replica until that has ended', async () => {
  const group = new MemoryGroup({ replicas: 3, seed: 5 });
  await group.begin();
  const leader = group.serving()!;
  const { members } = group;
  const ends = members.map((member) => {
    const payload = payloadOf(member);
    const endVerify = payload.endVerify.bind(payload);
    // As if the comparison took its time.
    payload.endVerify = () => undefined;
    return endVerify;
  });
  await group.time.until(payloadOf(leader).proposeVerify('check'));
  const areHeld = (): boolean => members.every((member) => payloadOf(member).context.held !== null);
  expect(await group.time.passUntil(areHeld, 1_000)).toBe(true);
  const [held] = new Set(members.map((member) => payloadOf(member).context.held!));

  for (let n = 0; n < 5; n++) {
    await group.time.until(write(leader, `k${n}`));
    await group.time.pass(100);
  }
  expect(members.map((member) => payloadOf(member).chosenEnd > held!)).toEqual([true, true, true]);
  expect(members.map((member) => shownTo(member) <= held!)).toEqual([true, true, true]);

  for (const end of ends) end();
  const areShown = (): boolean => members.every((member) => shownTo(member) === payloadOf(member).chosenEnd);
  expect(await group.time.passUntil(areShown, 5_000)).toBe(true);
  await group.equal();
  await group.stop();
});
