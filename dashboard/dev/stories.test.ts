/** Stories are true runs and the same each time, and the page's model says of them what is so. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../server/src/api/status.ts';
import { findLeader, healthOf, isIsolated } from '../src/model/cluster-view.ts';
import { type DashboardState, initialState, reduceDashboard } from '../src/model/dashboard-state.ts';
import { type Frame, parseFrame } from '../src/model/frames.ts';
import { quorumOf } from '../src/model/members-view.ts';
import { recoveryView } from '../src/model/recovery-view.ts';
import { stripsOf } from '../src/model/strips.ts';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { type SimulatedFixture, startFixture } from './simulated-fixture.ts';
import { actsOf, storyNamed } from './stories.ts';

const asFastAsItGoes = Number.POSITIVE_INFINITY;
let open: SimulatedFixture[] = [];

afterEach(async () => {
  for (const fixture of open) await fixture.close();
  open = [];
});

interface Moment {
  readonly fixture: SimulatedFixture;
  readonly cluster: ClusterStatus;
  /** Of a page that was open from the beginning of the story on. */
  readonly page: DashboardState;
}

async function momentOf(name: string): Promise<Moment> {
  const story = storyNamed(name);
  const quiet = { dashboard: null, say: () => undefined };
  const fixture = await startFixture({ seed: story.seed, replicas: 3, clients: 4, port: 0, ...quiet });
  open.push(fixture);
  const { group, pace, beganMs, demo } = fixture;
  const events: TraceEvent[] = [];
  const listen = (process: (typeof group.members)[number]['process']): void =>
    void process?.events.subscribe((event) => events.push(event), 'all');
  for (const { process } of group.members) listen(process);
  const { observer } = group;
  group.observer = {
    onStarted(id, process) {
      observer?.onStarted(id, process);
      listen(process);
    },
    onEnded: (id, process) => observer?.onEnded(id, process),
  };
  pace.plan(actsOf(story, fixture));
  await pace.playTo(beganMs + story.momentMs, asFastAsItGoes);
  expect(group.troubles).toEqual([]);
  const response = await fetch(`http://127.0.0.1:${demo.port}/api/cluster`);
  const cluster = (await response.json()) as ClusterStatus;
  const frames = [
    { type: 'events', events },
    { type: 'cluster', cluster },
  ].map((frame) => parseFrame(JSON.stringify(frame)) as Frame);
  const page = reduceDashboard(initialState, { kind: 'frames', frames, atMs: 0 });
  return { fixture, cluster, page };
}

const factsOf = ({ fixture: { group }, page }: Moment): object => ({
  atMs: group.time.nowMs(),
  events: page.trace.events.map(({ name, replica, atUs }) => `${atUs} ${replica} ${name}`),
  described: group.describe(),
});
const healths = (cluster: ClusterStatus): readonly string[] =>
  cluster.replicas.map((replica) => healthOf(replica, findLeader(cluster)?.id ?? null).text);

describe('a story', () => {
  it('of calm shows everybody in step, and every slot where the replicas have it', async () => {
    const { cluster, page } = await momentOf('calm');
    expect(findLeader(cluster)?.id).toBe('r1');
    expect(quorumOf(cluster)).toEqual({ up: 3, voters: 3, votersUp: 3, needed: 2 });
    const strips = stripsOf(cluster, page.trace);
    for (const [index, { cellAt }] of strips.entries()) {
      const { applicationPointer, commitPoint, lastSlot } = cluster.replicas[index]!.status!;
      expect(cellAt(applicationPointer).kind).toBe('applied');
      // Events may tell that a slot is replayed before the replica counts it.
      for (let slot = applicationPointer + 1; slot <= commitPoint; slot++)
        expect(cellAt(slot).kind).toMatch(/^(chosen|applied)$/);
      for (let slot = commitPoint + 1; slot <= lastSlot; slot++) expect(cellAt(slot).kind).toBe('accepted');
      expect(cellAt(lastSlot + 1).kind).toBe('empty');
    }
    expect(page.trace.logs.get('r1')?.missed).toBe(0);
  });

  it('of an election has another leader on the next timeline', async () => {
    const { cluster } = await momentOf('election');
    expect(findLeader(cluster)).toMatchObject({ wal: { role: 'primary', timeline: 2 } });
    expect(healths(cluster)[0]).toBe('Crashed: its process is gone');
  });

  it('of no majority leaves a leader alone', async () => {
    const { cluster } = await momentOf('no majority');
    expect(quorumOf(cluster)).toMatchObject({ up: 1, votersUp: 1, needed: 2 });
  });

  it('of parted replicas has no leader, and who led waits to be judged', async () => {
    const { cluster } = await momentOf('parted');
    expect(findLeader(cluster)).toBeNull();
    expect(cluster.replicas.map(({ id }) => isIsolated(cluster, id))).toEqual([true, true, true]);
    expect(cluster.replicas[0]?.status?.message).toMatch(/wrote when it led is compared/);
  });

  it('of a lost disk copies under a new incarnation, step by step, and is the same each time', async () => {
    const one = await momentOf('healing');
    const { status } = one.cluster.replicas[1]!;
    expect(status).toMatchObject({ incarnation: 2, state: 'restoring' });
    const view = recoveryView(status!)!;
    expect(view).toMatchObject({ step: 'copying', failure: null });
    expect(view.steps.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'joining done',
      'copying now',
      'starting todo',
      'catchingUp todo',
      'voting todo',
    ]);
    expect(view.detail).toMatch(/^\d+ of 6\d\d blocks compared with r\d, \d+ KB sent$/);
    const other = await momentOf('healing');
    expect(factsOf(one)).toEqual(factsOf(other));
  });

  it('of a row that changed by itself fences its replica, or condemns its database', async () => {
    const { cluster, page } = await momentOf('fenced');
    expect(healths(cluster)[2]).toBe('Fenced: its data differs');
    expect(page.trace.verify?.replicas.map(({ outcome }) => outcome)).toEqual(['equal', 'equal', 'differs']);
    const condemned = await momentOf('condemned');
    const { status } = condemned.cluster.replicas[1]!;
    expect(status?.recovery).toMatchObject({ phase: 'copying', cause: 'diverged' });
  });
});
