/** What must be true of a run, judged from outside: from databases, logs and what clients were told. */
import { compareBallots, sameBallot } from '../../multipaxos/ballot.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Level } from '../types/effects.ts';
import type { SimulatedGroup } from './simulated-group.ts';

/** Acknowledged operations that a later primary began without, by level. */
export function lostByLevel({ acknowledged, beginnings }: SimulatedGroup): Readonly<Record<Level, number>> {
  const lost = { none: 0, async: 0, majority: 0, semi: 0, sync: 0 };
  for (const { label, slot, level, epoch } of acknowledged) {
    const isLost = beginnings.some(
      (later) =>
        compareBallots(later.epoch, epoch) > 0 &&
        slot >= later.from &&
        later.labels[slot - later.from] !== label,
    );
    if (isLost) lost[level] += 1;
  }
  return lost;
}

/** Differences between databases of those that follow one primary, and between a database and its own log. @returns what is wrong */
export function divergences({ replicas }: SimulatedGroup): readonly string[] {
  const wrong: string[] = [];
  for (const { id, state, database, isMarked } of replicas) {
    if (state === null || isMarked || state.isTakingCopy) continue;
    for (const [index, label] of database.entries()) {
      const held = state.log.get((index + 1) as Slot);
      if (held !== undefined && entryLabel(held.entry) !== label)
        wrong.push(`${id} has executed ${label} where its log has ${entryLabel(held.entry)} at ${index + 1}`);
    }
  }
  const following = replicas.filter(
    ({ state, isMarked }) => state !== null && !isMarked && state.role !== 'recovering',
  );
  for (const a of following)
    for (const b of following) {
      if (!sameBallot(a.state!.promised, b.state!.promised)) continue;
      const shared = Math.min(a.database.length, b.database.length);
      const at = a.database.slice(0, shared).findIndex((label, index) => label !== b.database[index]);
      if (at >= 0)
        wrong.push(`${a.id} and ${b.id} differ at ${at + 1}: ${a.database[at]}, ${b.database[at]}`);
    }
  return wrong;
}
