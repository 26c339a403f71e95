import { describe, expect, it, onTestFinished } from 'vitest';
import { startupTimedOut, tooManyClients, tooManyLogins } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import { Admission, type Connection } from './admission.ts';

function admission(limits: Partial<typeof defaultLimits>): Admission {
  return new Admission({ ...defaultLimits, ...limits });
}

const ended: string[] = [];
function open(to: Admission, name = 'x', address = '10.0.0.1'): Connection {
  return to.open(address, (error) => ended.push(`${name} ${error.sqlState}`));
}

function applicant(address = '10.0.0.1', role = 'app') {
  return { address, role, isProven: false };
}

/** Up to where a session begins. */
async function prove(connection: Connection, of = applicant()) {
  return (await connection.logIn(of)) ?? (await connection.enter());
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
    expect(await prove(first)).toBeNull();
    const late = open(one);
    expect(await prove(late)).toBeNull();
    expect(first.becomeClient()).toBeNull();
    expect([one.clients, one.strangers]).toEqual([1, 1]);
    expect(await open(one).logIn(applicant())).toBe(tooManyClients);
    // It came in time, but another one was quicker.
    expect(late.becomeClient()).toBe(tooManyClients);
    first.closed();
    first.closed();
    expect(one.clients).toBe(0);
    late.closed();
    expect(one.clients).toBe(0);
  });

  it.each([
    ['role', { clientsPerRoleMax: 2 }, ['10.0.0.2', 'app'], ['10.0.0.1', 'operator']],
    ['address', { clientsPerAddressMax: 2 }, ['10.0.0.1', 'operator'], ['10.0.0.2', 'app']],
  ] as const)('of one %s leave places to others', async (_, limits, same, other) => {
    const some = admission({ clientsMax: 3, ...limits });
    const two = [open(some), open(some)];
    for (const each of two) {
      expect(await prove(each)).toBeNull();
      expect(each.becomeClient()).toBeNull();
    }
    // Told behind the proof alone.
    const third = open(some);
    expect(await third.logIn(applicant(...same))).toBeNull();
    expect(await third.enter()).toMatchObject({ sqlState: '53300' });
    const welcome = open(some);
    expect(await prove(welcome, applicant(...other))).toBeNull();
    expect(welcome.becomeClient()).toBeNull();
    two[0]!.closed();
    welcome.closed();
    expect(await prove(open(some), applicant(...same))).toBeNull();
  });

  it('begin sessions a few at a time, the others wait for their turn', async () => {
    const two = admission({ enteringMax: 2 });
    const [a, b, c, d] = [open(two), open(two), open(two), open(two)];
    expect(await prove(a)).toBeNull();
    expect(await prove(b)).toBeNull();
    const third = prove(c);
    const fourth = prove(d);
    expect(await isSettled(third)).toBe(false);
    a.becomeClient();
    expect(await fourth).toBeNull();
    expect(await isSettled(third)).toBe(false);
    b.closed();
    expect(await third).toBeNull();
  });

  it('whose session is slow to begin make room when others wait', async () => {
    ended.length = 0;
    const one = admission({ enteringMax: 1, slowEntryMs: 30 });
    const slow = open(one, 'slow');
    await prove(slow);
    const quick = open(one, 'quick');
    expect(await prove(quick)).toBeNull();
    expect(ended).toEqual(['slow 08P01']);
    slow.closed();
    expect(one.strangers).toBe(1);
  });

  it('linger when they go and PostgreSQL has not let go of them, and count meanwhile', async () => {
    let begun = 0;
    const two = new Admission({ ...defaultLimits, clientsMax: 2, enteringMax: 9 }, () => (begun += 1));
    const gone = [open(two), open(two)];
    const letGo: (() => void)[] = [];
    for (const each of gone) {
      expect(await prove(each)).toBeNull();
      letGo.push(each.reachPostgres());
    }
    // The one has closed its connection, of the other nothing more comes.
    gone[0]!.closed();
    gone[1]!.ended();
    gone[1]!.closed();
    expect([two.lingering, two.strangers, begun]).toEqual([2, 0, 1]);
    expect(await prove(open(two), applicant('10.0.0.2', 'other'))).toBe(tooManyClients);
    letGo[0]!();
    letGo[0]!();
    expect(two.lingering).toBe(1);
    const other = open(two);
    expect(await prove(other, applicant('10.0.0.2', 'other'))).toBeNull();
    expect(other.becomeClient()).toBeNull();
    letGo[1]!();
    expect([two.lingering, two.clients]).toEqual([0, 1]);
  });

  it('of one role that linger keep out that role alone', async () => {
    const some = admission({ lingeringPerRoleMax: 1 });
    const gone = open(some);
    await prove(gone);
    const letGo = gone.reachPostgres();
    gone.closed();
    expect(await prove(open(some))).toMatchObject({ sqlState: '53300' });
    expect(await prove(open(some), applicant('10.0.0.1', 'other'))).toBeNull();
    letGo();
    expect(await prove(open(some))).toBeNull();
  });

  it('wait for their turn while PostgreSQL has no places for more that begin', async () => {
    const small = admission({ clientsMax: 2, enteringBeyondMax: 0, slowEntryMs: 60_000 });
    const [a, b, c] = [open(small), open(small), open(small)];
    for (const each of [a, b]) await prove(each);
    const letGo = [a.reachPostgres(), b.reachPostgres()];
    const third = prove(c, applicant('10.0.0.1', 'other'));
    expect(await isSettled(third)).toBe(false);
    a.closed();
    expect(await isSettled(third)).toBe(false);
    letGo[0]!();
    expect(await third).toBeNull();
  });

  it('that were clients do not keep out their role while PostgreSQL lets go of them', async () => {
    const some = admission({ lingeringPerRoleMax: 1 });
    const client = open(some);
    await prove(client);
    const letGo = client.reachPostgres();
    client.becomeClient();
    client.closed();
    expect([some.clients, some.lingering]).toEqual([0, 1]);
    expect(await prove(open(some))).toBeNull();
    letGo();
    expect(some.lingering).toBe(0);
  });

  it('that take too long to log in are ended, though nobody waits', async () => {
    ended.length = 0;
    const impatient = admission({ authenticationTimeoutMs: 20 });
    await open(impatient, 'a').logIn(applicant());
    await expect.poll(() => ended).toEqual(['a 08P01']);
    expect(impatient.strangers).toBe(0);
  });
});

describe('connections that prove nothing', () => {
  it('make room at once: the oldest of the source that has most', async () => {
    ended.length = 0;
    const small = admission({ provingMax: 3 });
    await open(small, 'other').logIn(applicant());
    for (const name of ['old', 'new']) await open(small, name, '10.0.0.2').logIn(applicant('10.0.0.2'));
    expect(await open(small).logIn(applicant())).toBeNull();
    expect(ended).toEqual([`old ${tooManyLogins.sqlState}`]);
  });

  it.each([
    ['the same source, where there are places for them', '10.0.0.1', 3_000],
    ['another source', '10.0.0.2', 1_000],
  ])('keep out no client of %s, with 2,000 of them that come again', async (_, from, provingMax) => {
    let come = 0;
    let isFlooded = true;
    const usual = admission({ provingMax });
    function flood(): void {
      if (!isFlooded) return;
      come += 1;
      const hostile = usual.open('10.0.0.1', () => {
        hostile.closed();
        // Each that makes room comes again, which ends the next one: not all at once.
        setImmediate(flood);
      });
      void hostile.logIn(applicant('10.0.0.1', `made_up_${come}`));
    }
    onTestFinished(() => {
      isFlooded = false;
    });
    for (let n = 0; n < 2_000; n += 1) flood();
    let isOver = false;
    for (let n = 0; n < 20; n += 1) {
      const honest = usual.open(from, () => (isOver = true));
      expect(await honest.logIn(applicant(from))).toBeNull();
      // A proof takes some turns of the event loop.
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      expect(await honest.enter()).toBeNull();
      expect(honest.becomeClient()).toBeNull();
    }
    expect(isOver).toBe(false);
    expect(usual.strangers).toBeLessThanOrEqual(provingMax);
  });
});
