/** Faults of operators: a member is removed from a cluster that runs. */
import { Skipped, type Begun, type Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';

export function replaceMember(_scene: Scene, _planned: PlannedFault): Promise<Begun> {
  return Promise.reject(new Skipped('this build cannot change members'));
}
