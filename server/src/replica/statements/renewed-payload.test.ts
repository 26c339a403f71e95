import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Payload } from '../../payload/payload.ts';
import { RenewedPayload } from './renewed-payload.ts';

function lives() {
  const told: string[] = [];
  let life = 0;
  const payload = new RenewedPayload((): Payload => {
    const name = `life ${(life += 1)}`;
    const tell = (what: string) => () => {
      told.push(`${name} ${what}`);
    };
    return {
      pointer: life as Slot,
      durablePointer: life as Slot,
      start: tell('starts'),
      chosen: tell('chosen'),
      room: tell('room'),
      lead: tell('leads'),
      follow: tell('follows'),
      purged: tell('purged'),
      stop: () => Promise.resolve(tell('stops')()),
    };
  });
  return { payload, told };
}

describe('a payload that is renewed', () => {
  it('ends one life before the next', async () => {
    const { payload, told } = lives();
    payload.start();
    await payload.renew(() => Promise.resolve(void told.push('between')));
    expect(told).toEqual(['life 1 starts', 'life 1 stops', 'between', 'life 2 starts']);
    expect(payload.pointer).toBe(2);
  });

  it('has no further life once it is stopped', async () => {
    const { payload, told } = lives();
    payload.start();
    const renewed = payload.renew(() => payload.stop());
    await renewed;
    expect(told).not.toContain('life 2 starts');
  });
});
