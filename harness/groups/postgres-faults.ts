/** What befalls one replica's PostgreSQL. */
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';

export function stand(scene: FaultScene, { postgres }: MemoryMember, how: 'stopped' | 'hanging'): void {
  postgres.stand(how);
  scene.later(() => postgres.goOn());
}

export function slow(
  scene: FaultScene,
  { postgres }: MemoryMember,
  slowness: number = scene.random.pick([30, 300]),
): void {
  postgres.slowness = slowness;
  scene.later(() => {
    postgres.slowness = 1;
  });
}

export function hangPromotion(scene: FaultScene, { postgres }: MemoryMember): void {
  postgres.promotionHangs = true;
  scene.later(() => {
    postgres.promotionHangs = false;
  });
}

/** Somebody cancels all that its sessions do, again and again: commits that wait are seen before they are chosen. */
export function endWaits(scene: FaultScene, { postgres }: MemoryMember): void {
  const cancelAll = (): void => {
    for (const session of postgres.run?.primary?.sessions.values() ?? []) session.cancel();
  };
  scene.later(scene.group.time.every(20 + scene.random.next() * 200, cancelAll));
}
