/**
 * Development only: the demo's API and page over a simulated group of the product's own replicas, for work on the dashboard without a real cluster.
 *
 *   npx tsx dashboard/dev/fixture-server.ts [--port 8080] [--replicas 3] [--clients 4] [--speed 1]
 *   npx tsx dashboard/dev/fixture-server.ts --seed 16 [--rounds 2]      # a run of `npm run groups -- --seed 16`, with its faults, to look at
 *   npx tsx dashboard/dev/fixture-server.ts --story healing             # what screenshots.ts takes a picture of; then it goes on
 *
 * The page's buttons work on all of them. Serves dashboard/dist too (`npm run build:dashboard`). Loopback only.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runSchedule } from '../../harness/groups/group-schedule.ts';
import { Pace } from './pace.ts';
import { startSimulatedDemo } from './simulated-demo.ts';
import { startFixture } from './simulated-fixture.ts';
import { actsOf, storyNamed } from './stories.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '4' },
    speed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '2' },
    seed: { type: 'string' },
    story: { type: 'string' },
  },
});

const [port, replicas, clients, speed, rounds] = [
  values.port,
  values.replicas,
  values.clients,
  values.speed,
  values.rounds,
].map(Number) as [number, number, number, number, number];
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const dashboard = { kind: 'ready', dir: join(import.meta.dirname, '../dist') } as const;
const forever = Number.POSITIVE_INFINITY;

async function replay(seed: number): Promise<void> {
  const { faults, story } = await runSchedule({
    seed,
    replicas,
    rounds,
    onGroup: async (group) => {
      const demo = await startSimulatedDemo({ group, port, dashboard, say: () => undefined });
      void new Pace(group.time).playTo(forever, speed);
      say(`the run of seed ${seed} (simulated): http://127.0.0.1:${demo.port}`);
    },
  });
  say([...story, ...faults, 'the run is over'].join('\n'));
}

async function serve(): Promise<void> {
  const story = values.story === undefined ? null : storyNamed(values.story);
  const { seed = 1 } = story ?? {};
  const fixture = await startFixture({ seed, replicas, clients, port, dashboard, say: () => undefined });
  if (story !== null) fixture.pace.plan(actsOf(story, fixture));
  const { troubles } = fixture.group;
  setInterval(() => troubles.splice(0).forEach(say), 1000);
  say(`a simulated group: http://127.0.0.1:${fixture.demo.port}`);
  await fixture.pace.playTo(forever, speed);
}

await (values.seed === undefined ? serve() : replay(Number(values.seed)));
