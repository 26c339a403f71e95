/**
 * What befalls a simulated group, so that the page shows what is seldom seen: each story is the same each time that it is played.
 *
 * Responsible for: which faults come when, and the moment to look at. Faults are what people can do from the page, but for a row that changes by itself.
 */
import { type FaultRequest, forced } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { Act } from './pace.ts';
import type { SimulatedFixture } from './simulated-fixture.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];

export type StoryFault =
  | FaultRequest
  /** A row of its database changes by itself. */
  | { readonly action: 'alter'; readonly replica: ReplicaId }
  /** The data of all replicas are compared, as an operator asks for it. */
  | { readonly action: 'verify'; readonly repair: boolean };

/** Times: since the clients began. */
export interface Story {
  readonly name: string;
  readonly seed: number;
  readonly faults: readonly (readonly [atMs: number, fault: StoryFault])[];
  /** The moment to look at. */
  readonly momentMs: number;
}

/** The founder, r1, leads when a story begins. */
export const stories: readonly Story[] = [
  { name: 'calm', seed: 1, faults: [], momentMs: 9_000 },
  {
    name: 'election',
    seed: 1,
    faults: [[9_000, { action: 'crash', replica: r1 }]],
    momentMs: 11_000,
  },
  {
    name: 'new timeline',
    seed: 1,
    faults: [
      [6_000, { action: 'crash', replica: r1 }],
      [11_000, { action: 'restart', replica: r1 }],
    ],
    momentMs: 13_000,
  },
  {
    name: 'no majority',
    seed: 1,
    faults: [
      [8_000, { action: 'pause', replica: r2 }],
      [8_000, { action: 'pause', replica: r3 }],
    ],
    momentMs: 8_700,
  },
  {
    name: 'parted',
    seed: 1,
    faults: [
      [8_000, { action: 'isolate', replica: r1 }],
      [8_000, { action: 'isolate', replica: r2 }],
    ],
    momentMs: 13_000,
  },
  {
    name: 'healing',
    seed: 1,
    faults: [[8_000, { action: 'wipe', replica: r2, what: 'both' }]],
    momentMs: 11_000,
  },
  {
    name: 'condemned',
    seed: 1,
    faults: [
      [7_000, { action: 'alter', replica: r2 }],
      [8_000, { action: 'verify', repair: true }],
    ],
    momentMs: 10_000,
  },
  {
    name: 'fenced',
    seed: 1,
    faults: [
      [7_000, { action: 'alter', replica: r3 }],
      [8_000, { action: 'verify', repair: false }],
    ],
    momentMs: 10_000,
  },
  {
    name: 'slow link',
    seed: 1,
    faults: [
      [6_000, { action: 'crash', replica: r1 }],
      [10_000, { action: 'delay', from: r2, to: r3, amount: 200 }],
    ],
    momentMs: 12_000,
  },
];

/** @throws Error if there is none */
export function storyNamed(name: string): Story {
  const story = stories.find((one) => one.name === name);
  if (story === undefined)
    throw new Error(`there is no story "${name}", but ${stories.map((one) => `"${one.name}"`).join(', ')}`);
  return story;
}

export function actsOf({ faults }: Story, { beganMs, group, demo }: SimulatedFixture): readonly Act[] {
  return faults.map(([atMs, fault]) => ({
    atMs: beganMs + atMs,
    act: () => {
      if (fault.action === 'alter') {
        group.member(fault.replica).postgres.run?.buffers.alter('catalogue_1', 'tea');
        return undefined;
      }
      if (fault.action !== 'verify') return demo.supervisor.fault(forced(fault));
      void group.serving()?.replica?.admin.verify(fault);
      return undefined;
    },
  }));
}
