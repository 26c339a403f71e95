import { describe, expect, it } from 'vitest';
import { type AccessQuestion, type AccessRuleText, compileAccess, defaultAccess } from './access-rules.ts';

const anyone: AccessRuleText = { database: 'all', role: 'all', address: 'all', tls: 'any', method: 'scram' };
const asked: AccessQuestion = { database: 'shop', role: 'anna', address: '10.1.2.3', isEncrypted: false };

function method(
  rules: readonly Partial<AccessRuleText>[],
  question: Partial<AccessQuestion> = {},
): string | null {
  const access = compileAccess(rules.map((rule) => ({ ...anyone, ...rule })));
  return access.methodFor({ ...asked, ...question });
}

describe('rules of access', () => {
  it('count in their order: the first that matches', () => {
    const rules = [{ role: 'ben', method: 'trust' }, { role: 'anna', method: 'reject' }, {}] as const;
    expect(method(rules)).toBe('reject');
    expect(method(rules, { role: 'ben' })).toBe('trust');
    expect(method(rules, { role: 'cara' })).toBe('scram');
  });

  it('let nobody in whom none matches', () => {
    expect(method([])).toBeNull();
    expect(method([{ role: 'ben' }])).toBeNull();
  });

  it('name databases and roles one by one, exactly as they are written', () => {
    expect(method([{ database: 'stock, shop' }])).toBe('scram');
    expect(method([{ database: 'Shop' }])).toBeNull();
    expect(method([{ role: 'ann' }])).toBeNull();
    expect(method([{ role: 'anna,ben' }], { role: 'ben' })).toBe('scram');
  });

  it.each([
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['192.168.0.0/16, 10.0.0.0/8', '10.1.2.3', true],
    ['loopback', '127.0.0.9', true],
    ['loopback', '::1', true],
    ['loopback', '::ffff:127.0.0.1', true],
    ['loopback', '128.0.0.1', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', '10.1.2.3', false],
    ['0.0.0.0/0', '10.1.2.3', true],
    ['::/0', 'fd12::1', true],
    ['::/0', '10.1.2.3', false],
    ['::/95', '10.1.2.3', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['all', '', true],
    ['0.0.0.0/0, ::/0', '', false],
  ])('%s is for %s: %s', (address, from, isFor) => {
    expect(method([{ address }], { address: from }) !== null).toBe(isFor);
  });

  it('tell encrypted connections from others', () => {
    const rules = [{ tls: 'required' }, { tls: 'none', method: 'reject' }] as const;
    expect(method(rules, { isEncrypted: true })).toBe('scram');
    expect(method(rules)).toBe('reject');
  });

  it('where none are given ask for passwords, and for TLS from other machines if there is TLS', () => {
    const local = { address: '127.0.0.1' };
    expect([method(defaultAccess(false)), method(defaultAccess(false), local)]).toEqual(['scram', 'scram']);
    expect([method(defaultAccess(true)), method(defaultAccess(true), local)]).toEqual([null, 'scram']);
    expect(method(defaultAccess(true), { isEncrypted: true })).toBe('scram');
  });
});
