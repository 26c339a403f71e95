import { beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { STEADY_ACTIONS } from '../trace/trace-command.ts';
import { createDriver, type CoreDriver } from './core-driver.ts';
import { makeBehaviours, replayAll } from './replay-command.ts';
import { replayBehaviour, type Divergence } from './replay.ts';
import type { TlaState } from './tla-value.ts';

let behaviours: TlaState[][] = [];
beforeAll(async () => {
  behaviours = await makeBehaviours({ behaviours: 80, depth: 60, seed: 1 });
}, 280_000);

function firstDivergence(
  makeDriver: (id: ReplicaId, members: readonly ReplicaId[]) => CoreDriver,
): Divergence | null {
  for (const states of behaviours) {
    const { divergence } = replayBehaviour(states, makeDriver);
    if (divergence !== null) return divergence;
  }
  return null;
}

describe('behaviours of the spec', () => {
  it('are followed by the core, step by step, every action among them', () => {
    const { failed, actions } = replayAll(behaviours);
    expect(failed).toBeNull();
    expect([...actions.keys()]).toEqual(expect.arrayContaining([...STEADY_ACTIONS]));
  });

  it('are not followed by a core that forgets its promise in a crash', () => {
    const divergence = firstDivergence((id, members) => {
      const driver = createDriver(id, members);
      const view = (): ReturnType<CoreDriver['view']> => {
        const real = driver.view();
        return real.role === 'follower'
          ? { ...real, promised: { round: 0, replica: '' as ReplicaId } }
          : real;
      };
      return { ...driver, view };
    });
    expect(divergence?.what).toMatch(/: promised$/);
  });

  it('are not followed by a core that tells of a vote before it is durable', () => {
    const divergence = firstDivergence((id, members) => {
      const driver = createDriver(id, members);
      return {
        ...driver,
        take(action) {
          const outcome = driver.take(action);
          const { ballot, commitPoint } = outcome.events[0]?.state ?? { ballot: null, commitPoint: 0 };
          if (action.name !== 'HandleAccept' || ballot === null) return outcome;
          const slot = outcome.events[0]?.votes?.[0]?.[0];
          if (slot === undefined) return outcome;
          const early = {
            kind: 'Accepted',
            group: 'replay',
            ballot,
            firstSlot: slot,
            lastSlot: slot,
            commitPoint,
            sentAtMs: 0,
          };
          return { ...outcome, sent: [...outcome.sent, early as Message] };
        },
      };
    });
    expect(divergence).toMatchObject({
      what: 'the core sends what the spec does not',
      action: expect.stringMatching(/^HandleAccept/),
    });
  });

  it('are not followed by a core that does not hear a message', () => {
    const divergence = firstDivergence((id, members) => {
      const driver = createDriver(id, members);
      return {
        ...driver,
        take: (action) => (action.name === 'HandlePromise' ? { events: [], sent: [] } : driver.take(action)),
      };
    });
    expect(divergence).toMatchObject({ what: 'the core does something else', spec: 'HandlePromise' });
  });
});
