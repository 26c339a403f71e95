/**
 * Replicas whose process has ended though no fault has them: nobody starts them again, and a run that goes on without them tests something else.
 *
 * Pure. A process that is about to be started again may be seen as stopped once, so several looks in a row count.
 */
import type { ClusterReplica } from '../../server/src/api/status.ts';

const looksMin = 3;

export class Deserters {
  private readonly looks = new Map<string, number>();
  private readonly told = new Set<string>();

  /** Who has ended by itself, each told once. `isStruck`: some fault has it. */
  look(
    replicas: readonly Pick<ClusterReplica, 'id' | 'process'>[],
    isStruck: (id: string) => boolean,
  ): readonly string[] {
    const found: string[] = [];
    for (const { id, process } of replicas) {
      const count = process === 'stopped' && !isStruck(id) ? (this.looks.get(id) ?? 0) + 1 : 0;
      this.looks.set(id, count);
      if (count < looksMin || this.told.has(id)) continue;
      this.told.add(id);
      found.push(id);
    }
    return found;
  }
}
