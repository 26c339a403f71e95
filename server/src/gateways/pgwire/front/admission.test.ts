import { describe, expect, it } from 'vitest';
import { tooManyClients, tooManyLogins, startupTimedOut } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import { Admission, type Connection } from './admission.ts';

function admission(limits: Partial<typeof defaultLimits>): Admission {
  return new Admission({ ...defaultLimits, ...limits });
}

const ended: string[] = [];
function open(to: Admission, name = 'x'): Connection {
  return to.open((error) => ended.push(`${name} ${error.sqlState}`));
}

/** Whether the promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  return (
    (await Promise.race([promise, new Promise((resolve) => setImmediate(() => resolve(open)))])) !== open
  );
}

describe('connections', () => {
  it('that say nothing make room for new ones, the oldest first', () => {
    ended.length = 0;
    const few = admission({ openingMax: 2 });
    const all = ['a', 'b', 'c'].map((name) => open(few, name));
    expect(ended).toEqual(['a 08P01']);
    expect(few.strangers).toBe(2);
    for (const connection of all) connection.closed();
    expect(few.strangers).toBe(0);
  });

  it('that say nothing for too long are ended', async () => {
    ended.length = 0;
    const impatient = admission({ firstPacketTimeoutMs: 20 });
    open(impatient, 'a');
    await expect.poll(() => ended).toEqual([`a ${startupTimedOut.sqlState}`]);
    expect(impatient.strangers).toBe(0);
  });

  it('are clients when they are logged in, and not more than the limit', async () => {
    const one = admission({ clientsMax: 1 });
    const first = open(one);
    expect(await first.logIn()).toBeNull();
    const late = open(one);
    expect(await late.logIn()).toBeNull();
    expect(first.becomeClient()).toBeNull();
    expect([one.clients, one.strangers]).toEqual([1, 1]);
    expect(await open(one).logIn()).toBe(tooManyClients);
    // It came in time, but another one was quicker.
    expect(late.becomeClient()).toBe(tooManyClients);
    first.closed();
    first.closed();
    expect(one.clients).toBe(0);
    late.closed();
    expect(one.clients).toBe(0);
  });

  it('log in a few at a time, the others wait for their turn', async () => {
    const two = admission({ authenticatingMax: 2 });
    const [a, b, c, d] = [open(two), open(two), open(two), open(two)];
    expect(await a.logIn()).toBeNull();
    expect(await b.logIn()).toBeNull();
    const third = c.logIn();
    const fourth = d.logIn();
    expect(await isSettled(third)).toBe(false);
    a.becomeClient();
    expect(await third).toBeNull();
    expect(await isSettled(fourth)).toBe(false);
    b.closed();
    expect(await fourth).toBeNull();
  });

  it('that are slow to log in make room when others wait', async () => {
    ended.length = 0;
    const one = admission({ authenticatingMax: 1, slowAuthenticationMs: 30 });
    const slow = open(one, 'slow');
    await slow.logIn();
    const quick = open(one, 'quick');
    expect(await quick.logIn()).toBeNull();
    expect(ended).toEqual(['slow 08P01']);
    slow.closed();
    expect(one.strangers).toBe(1);
  });

  it('that take too long to log in are ended, though nobody waits', async () => {
    ended.length = 0;
    const impatient = admission({ authenticationTimeoutMs: 20 });
    await open(impatient, 'a').logIn();
    await expect.poll(() => ended).toEqual(['a 08P01']);
    expect(impatient.strangers).toBe(0);
  });

  it('wait in a queue that has an end', async () => {
    const small = admission({ authenticatingMax: 1, waitingMax: 1 });
    await open(small).logIn();
    const waiting = open(small);
    void waiting.logIn();
    expect(await open(small).logIn()).toBe(tooManyLogins);
    waiting.closed();
    const next = open(small);
    expect(await isSettled(next.logIn())).toBe(false);
    next.closed();
  });

  it('of which many never log in do not keep out one that does', async () => {
    const usual = admission({ authenticatingMax: 4, slowAuthenticationMs: 10, openingMax: 50 });
    for (let n = 0; n < 500; n += 1) open(usual);
    for (let n = 0; n < 20; n += 1) void open(usual).logIn();
    const honest = open(usual);
    expect(await honest.logIn()).toBeNull();
    expect(honest.becomeClient()).toBeNull();
  });
});
