/**
 * Stories of what a database may become: faults of more than one act that lead to where one rule alone keeps an old leader's own WAL from the others. Each is struck by its name only, and meets that place in some of its runs.
 *
 * Responsible for: losing nothing. All that is left of one ends by itself, or when all is mended.
 */
import type { FaultScene } from './fault-scene.ts';
import { lasting, when, type Story } from './fault-stories.ts';

/** Longer than faults strike: what is left of a story then ends with all others. */
const untilMendedMs = 20_000;

/** It has been replaced when it hears the others again, and the databases of those stand still: it alone could lead, with what it wrote in vain. */
const onlyOldLeaderIsLeft: Story = (scene, leader, others) => {
  const { network, ids } = scene.group;
  const mend = network.isolate(leader.id, ids);
  scene.until(untilMendedMs, mend);
  const isReplaced = (): boolean => others.some(({ replica }) => replica?.service.service().kind === 'here');
  when(scene, isReplaced, () => {
    for (const { postgres } of others) {
      postgres.stand('stopped');
      scene.until(untilMendedMs, () => postgres.goOn());
    }
    mend();
  });
};

/** Nobody hears what its PostgreSQL writes at last, and it comes back with that. */
const endsInOrderAlone: Story = (scene, leader) => {
  const { network, ids } = scene.group;
  const mend = network.isolate(leader.id, ids);
  const { process } = leader;
  const hasEnded = (): boolean => leader.process !== process;
  // Whoever has waited long enough for it kills it.
  scene.until(untilMendedMs, () => {
    mend();
    if (!hasEnded()) leader.crash();
    scene.start(leader);
  });
  const hasUnchosen = (): boolean => (process?.assembled?.payload.unchosenBytes ?? 0) > 0;
  when(scene, hasUnchosen, () => {
    void leader.stop();
    when(scene, hasEnded, () => {
      mend();
      scene.start(leader);
    });
  });
};

export const databaseStories: readonly (readonly [name: string, strike: (scene: FaultScene) => void])[] = [
  ['only a leader of before is left to lead', lasting(untilMendedMs, onlyOldLeaderIsLeft)],
  ['the leader ends in order, and alone', lasting(untilMendedMs, endsInOrderAlone)],
];
