/** A group of which the layer `apply` tells, for runs that are written down by hand: its leader lets clients in, and ships. */
import type { EntryLabel, ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ApplyItem } from '../apply-event.ts';
import { applySteps } from '../apply-steps.ts';
import { judgeApplySteps } from '../apply-trace.ts';

export const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];
export const leadership = { round: 1, replica: r1 };

export function told(replica: ReplicaId, event: object): ApplyItem {
  const common = { layer: 'apply', replica, run: replica, seq: 1, atUs: 1 };
  return { kind: 'event', replica, event: { ...common, ...event } as unknown as ApplyEvent };
}
export const chosen = (slot: number, label: EntryLabel): ApplyItem => ({ kind: 'chosen', slot, label });
export const label = (slot: number): EntryLabel => `r1/${slot}`;

/** The group is founded: its leader lets clients in, and WAL up to 100 is chosen. */
export const founded = [
  { kind: 'begins', replica: r1 },
  { kind: 'elected', replica: r1, leadership, startSlot: 1 },
  chosen(1, 'start:1.r1'),
  told(r1, { name: 'DatabaseUp', role: 'founder', slot: 1, position: 0, timeline: 0 }),
  told(r1, {
    name: 'ProposeLeadership',
    label: label(2),
    leadership,
    timeline: 1,
    fork: 100,
    nextXid: '7',
    resumes: false,
  }),
  chosen(2, label(2)),
  told(r1, {
    name: 'BeginLeadership',
    label: label(2),
    slot: 2,
    leadership,
    timeline: 1,
    fork: 100,
    nextXid: '7',
    resumes: false,
    role: 'primary',
  }),
  told(r1, { name: 'Open', leadership, slot: 2, position: 100 }),
] as const satisfies readonly ApplyItem[];

/** A range of the leader in this slot; chosen and released only if it is told so. */
export const ship = (slot: number, start: number, end: number): ApplyItem =>
  told(r1, { name: 'Ship', label: label(slot), leadership, timeline: 1, start, end, commits: [] });
export const range = (slot: number, start: number, end: number): readonly ApplyItem[] => [
  ship(slot, start, end),
  chosen(slot, label(slot)),
  told(r1, { name: 'Release', slot, start, position: end, commits: [] }),
];

export async function verdictOn(items: readonly ApplyItem[]): Promise<string> {
  const [outcome] = await judgeApplySteps([applySteps(items)]);
  return outcome!.kind === 'accepted' ? 'accepted' : `rejected at ${outcome!.recorded?.name}`;
}
