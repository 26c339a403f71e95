import { describe, expect, it } from 'vitest';
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import { defaultLimits } from '../limits.ts';
import { Budget } from './budget.ts';
import { Logins } from './logins.ts';

const encryption = { endpoint: null, certificateName: null };
const far: ClientLink = { address: '192.0.2.7', encryption: null };
const who = { user: 'u', password: 'p' };

/** The SQLSTATE; 08001: the SQL gateway was asked, which is not there. */
async function stateOf(params: object, link: ClientLink, plaintextPasswords = false): Promise<unknown> {
  const connectAs = (): Promise<never> => Promise.reject(new Error('it is not there'));
  const budget = new Budget(1000);
  const logins = new Logins({ connectAs, plaintextPasswords, limits: defaultLimits, budget });
  const error: unknown = await logins.logIn(params, link).catch((thrown: unknown) => thrown);
  return (error as { sqlState?: string }).sqlState;
}

describe('a password', () => {
  it.each([
    ['from another machine in the clear', far, false, '28000'],
    ['from another machine over TLS', { ...far, encryption }, false, '08001'],
    ['from another machine in the clear, where that is let', far, true, '08001'],
    ['from this machine', { ...far, address: '127.3.4.5' }, false, '08001'],
    ['from what only looks like this machine', { ...far, address: '127.0.0.1.example' }, false, '28000'],
    ['from nobody knows where', { ...far, address: '' }, false, '28000'],
  ])('%s', async (_where, link, plaintextPasswords, state) => {
    expect(await stateOf(who, link, plaintextPasswords)).toBe(state);
    // Without one it is the rules' to say.
    expect(await stateOf({ user: 'u' }, link, plaintextPasswords)).toBe('08001');
  });

  it.each([
    [{}, '28000'],
    [{ user: '' }, '28000'],
    [{ user: 'u\0v' }, '22023'],
    [{ user: 'u', database: 'd'.repeat(2000) }, '22023'],
  ])('names that nobody can have: %j', async (params, state) => {
    expect(await stateOf(params, { ...far, encryption })).toBe(state);
  });
});
