import { describe, expect, it } from 'vitest';
import { isLoopbackAddress, requestProblem } from './request-guard.ts';

describe('the guard against pages of other sites', () => {
  it.each([
    ['127.0.0.1:8080', undefined],
    ['localhost:8080', 'http://localhost:8080'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['127.0.0.1', undefined],
  ])('lets pass what this machine asks of itself: %s %s', (host, origin) => {
    expect(requestProblem({ host, origin }, '127.0.0.1')).toBeNull();
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
    expect(requestProblem({ host, origin }, '127.0.0.1')).not.toBeNull();
  });

  it('lets other names pass where the listener is not on loopback, but no foreign origin', () => {
    expect(requestProblem({ host: 'db1.example:8081' }, '0.0.0.0')).toBeNull();
    expect(
      requestProblem({ host: 'db1.example:8081', origin: 'http://evil.example' }, '0.0.0.0'),
    ).not.toBeNull();
  });

  it('knows an address of this machine', () => {
    expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map(isLoopbackAddress)).toEqual([true, true, true]);
    expect(['10.0.0.1', '::ffff:10.0.0.1', undefined].map(isLoopbackAddress)).toEqual([false, false, false]);
  });
});
