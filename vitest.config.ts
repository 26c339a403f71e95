/**
 * Test suites by environment; a file's suffix says what it needs.
 *   *.test.ts       pure or in-process, milliseconds          (unit)
 *   *.pg.test.ts    starts a real PostgreSQL                  (pg)
 *   *.tlc.test.ts   runs TLC: needs Java and Maven            (tlc)
 *   *.zk.test.ts    runs Apache ZooKeeper: Java and Maven     (zk)
 *   *.e2e.test.ts   starts a whole cluster, a browser, psql   (e2e)
 *
 * Files share the process of their worker: loading the code anew for each of them took more of a processor than most tests do. So a test leaves behind no
 * timers, no changed globals and no server (scripts/left-behind.ts); what a module keeps for its process (the template of a database) is made once in a
 * worker.
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

/**
 * Against what hangs, and nothing else: a machine that is busy with other things takes its time. So no test has a limit of its own
 * (scripts/architecture.test.ts).
 */
const limits = { testTimeout: 900_000, hookTimeout: 900_000, expect: { poll: { timeout: 300_000 } } };

export default defineConfig({
  test: {
    reporters: process.env.CI ? ['default'] : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: suite('test'),
          exclude: slow,
          setupFiles: ['scripts/left-behind.ts'],
          ...limits,
          maxWorkers: 2,
          isolate: false,
        },
      },
      {
        test: {
          name: 'pg',
          include: suite('pg.test'),
          ...limits,
          maxWorkers: 2,
          isolate: false,
        },
      },
      {
        test: {
          name: 'tlc',
          include: suite('tlc.test'),
          ...limits,
          maxWorkers: 1,
          isolate: false,
        },
      },
      {
        test: {
          name: 'zk',
          include: suite('zk.test'),
          ...limits,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: 'e2e',
          include: suite('e2e.test'),
          ...limits,
          maxWorkers: 1,
        },
      },
    ],
  },
});
