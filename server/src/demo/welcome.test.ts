import { expect, it } from 'vitest';
import { welcomeText } from './demo.ts';
import { type DemoOptions, planReplicas } from './layout.ts';
import type { Supervisor } from './supervisor.ts';

it('people are told the ports of the first replica that is there', () => {
  const options = {
    dataDir: '/d',
    replicas: 4,
    absent: ['r1'],
    port: 7432,
    dashboardPort: 8080,
    thriftPort: 9000,
  } as unknown as DemoOptions;
  const plans = planReplicas(options);
  const supervisor = { plans: () => plans, plan: () => null, cluster: () => [] } as unknown as Supervisor;
  const text = welcomeText({ supervisor, options, stop: () => Promise.resolve() });
  expect(text).toContain('@127.0.0.1:7433/barista');
  expect(text).toContain('thrift     127.0.0.1:9001');
});
