import { describe, expect, it } from 'vitest';
import { isLoopbackAddress, requestProblem } from './request-guard.ts';

describe('the guard against pages of other sites', () => {
  it.each([
    ['127.0.0.1:8080', undefined],
    ['localhost:8080', 'http://localhost:8080'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['127.0.0.1', undefined],
  ])('lets pass what this machine asks of itself: %s %s', (host, origin) => {
    expect(requestProblem({ host, origin }, { host: '127.0.0.1' })).toBeNull();
  });

  it.each([
    ['evil.example:8080', undefined],
    ['127.0.0.1.evil.example', undefined],
    ['localhost.evil.example:8080', undefined],
    ['127.0.0.1:8080', 'http://evil.example'],
    ['127.0.0.1:8080', 'http://127.0.0.1:9999'],
    ['127.0.0.1:8080', 'null'],
    ['user@127.0.0.1', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('refuses on loopback: host %s, origin %s', (host, origin) => {
    expect(requestProblem({ host, origin }, { host: '127.0.0.1' })).not.toBeNull();
  });

  it('takes no name elsewhere but those that are known, addresses always, and no foreign origin', () => {
    const anywhere = { host: '0.0.0.0', names: ['db1.example'] };
    const judge = (host: string, origin?: string) => requestProblem({ host, origin }, anywhere);
    for (const host of [
      'db1.example:8081',
      'DB1.example',
      '10.0.0.1:8081',
      '[fd00::1]:8081',
      'localhost:8081',
    ])
      expect([host, judge(host)]).toEqual([host, null]);
    for (const host of [
      'evil.example:8081',
      'db1.example.evil.example',
      '10.0.0.1.evil.example',
      '0x0a000001.example',
    ])
      expect(judge(host)).toMatch(/no name of this server \(http\.names\)$/);
    expect(judge('db1.example:8081', 'http://evil.example')).toMatch(/another site/);
    expect(requestProblem({ host: 'db7.example' }, { host: 'db7.example' })).toBeNull();
    // A proxy on the same machine that passes on what it was called.
    expect(requestProblem({ host: 'db1.example' }, { host: '127.0.0.1', names: ['db1.example'] })).toBeNull();
  });

  it.each([
    ['cross-site', 'no-cors', false],
    ['same-site', 'cors', false],
    ['cross-site', 'navigate', true],
    ['same-origin', 'cors', true],
    ['none', 'navigate', true],
    [undefined, undefined, true],
  ])('knows for whom a browser asks where it sends no origin: %s, %s', (site, mode, passes) => {
    const headers = { host: 'localhost', 'sec-fetch-site': site, 'sec-fetch-mode': mode };
    expect(requestProblem(headers, { host: '127.0.0.1' }) === null).toBe(passes);
  });

  it('knows an address of this machine', () => {
    expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map(isLoopbackAddress)).toEqual([true, true, true]);
    expect(['10.0.0.1', '::ffff:10.0.0.1', undefined].map(isLoopbackAddress)).toEqual([false, false, false]);
  });
});
