/**
 * Test suites by environment; a file's suffix says what it needs.
 *   *.test.ts       pure or in-process, milliseconds          (unit)
 *   *.pg.test.ts    starts a real PostgreSQL                  (pg)
 *   *.tlc.test.ts   runs TLC: needs Java and Maven            (tlc)
 *   *.zk.test.ts    runs Apache ZooKeeper: Java and Maven     (zk)
 *   *.e2e.test.ts   starts a whole cluster, a browser, psql   (e2e)
 *
 * Files share the process of their worker: loading the code anew for each of them took more of a processor than most tests do. So a test leaves behind no
 * timers, no changed globals and no server; what a module keeps for its process (the template of a database) is made once in a worker.
 */
import { defineConfig } from 'vitest/config';

const roots = [
  'server/src',
  'harness',
  'dashboard/src',
  'dashboard/check',
  'dashboard/dev',
  'dashboard/sim',
  'scripts',
  'packaging',
];
const suite = (suffix: string): string[] => roots.map((root) => `${root}/**/*.${suffix}.{ts,tsx}`);
const slow = ['pg.test', 'tlc.test', 'zk.test', 'e2e.test'].flatMap(suite);

export default defineConfig({
  test: {
    reporters: process.env.CI ? ['default'] : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: suite('test'),
          exclude: slow,
          testTimeout: 20_000,
          maxWorkers: 2,
          isolate: false,
          env: { TEST_PORTS: '10000-12000' },
        },
      },
      {
        test: {
          name: 'pg',
          include: suite('pg.test'),
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A machine that is busy with other tests takes its time.
          expect: { poll: { timeout: 10_000 } },
          maxWorkers: 2,
          isolate: false,
          env: { TEST_PORTS: '12000-14000' },
        },
      },
      {
        test: {
          name: 'tlc',
          include: suite('tlc.test'),
          testTimeout: 300_000,
          maxWorkers: 1,
          isolate: false,
        },
      },
      {
        test: {
          name: 'zk',
          include: suite('zk.test'),
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 1,
          env: { TEST_PORTS: '14000-15000' },
        },
      },
      {
        test: {
          name: 'e2e',
          include: suite('e2e.test'),
          testTimeout: 240_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
