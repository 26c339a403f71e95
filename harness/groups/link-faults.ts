/** What befalls the links of one replica. */
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';

export function isolate(scene: FaultScene, { id }: MemoryMember): void {
  const { ids, network } = scene.group;
  scene.later(network.isolate(id, ids), 8000);
}

export function cutOneWay(
  scene: FaultScene,
  { id }: MemoryMember,
  how: 'is not heard' | 'hears nothing',
): void {
  const { ids, network } = scene.group;
  for (const other of ids)
    if (other !== id) scene.later(how === 'is not heard' ? network.cut(id, other) : network.cut(other, id));
}

/** Both ways; they reach each other through the others only. */
export function cutOneLink(scene: FaultScene, { id }: MemoryMember): void {
  const { ids, network } = scene.group;
  const others = ids.filter((one) => one !== id);
  if (others.length > 0) scene.later(network.isolate(id, [scene.random.pick(others)]));
}

export function flap(scene: FaultScene, { id }: MemoryMember): void {
  const { ids, network, time } = scene.group;
  let mend: (() => void) | null = null;
  const turn = (): void => {
    const isCut = mend !== null;
    mend?.();
    mend = isCut ? null : network.isolate(id, ids);
  };
  const stop = time.every(100 + scene.random.next() * 900, turn);
  scene.later(() => {
    stop();
    mend?.();
  });
}
