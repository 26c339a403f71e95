import { beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { ACTIONS } from '../trace/trace-command.ts';
import { createDriver } from './core-driver.ts';
import { makeBehaviours, replayAll } from './replay-command.ts';
import { replayBehaviour, type Divergence, type DriverMaker } from './replay.ts';
import type { ReplicaView } from './spec-view.ts';
import type { TlaState } from './tla-value.ts';

let behaviours: TlaState[][] = [];
beforeAll(async () => {
  behaviours = await makeBehaviours({ behaviours: 56, depth: 60, seed: 1 });
});

function firstDivergence(makeDriver: DriverMaker): Divergence | null {
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
    expect([...actions.keys()]).toEqual(expect.arrayContaining([...ACTIONS]));
  });

  it('are not followed by a core that forgets its promise in a crash', () => {
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
      const view = (): ReplicaView => {
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
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
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

  it('are not followed by a core whose window is larger', () => {
    expect(firstDivergence((id) => createDriver(id, { windowSlotsMax: 3 }))?.what).toMatch(/: room$/);
  });

  it('are not followed by a core that goes on though it hears of a change that deposes it or leaves it out', () => {
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
      let office: Partial<ReplicaView> = {};
      return {
        take(action) {
          const { role, serving, startSlot, backlog, room, counted } = driver.view();
          const { events, sent } = driver.take(action);
          const staysOn = action.name === 'LearnConfiguration' && events.length > 1;
          office = staysOn ? { role, serving, startSlot, backlog, room, counted } : {};
          return { events: staysOn ? events.slice(0, 1) : events, sent };
        },
        view: () => ({ ...driver.view(), ...office }),
      };
    });
    expect(divergence).toMatchObject({
      what: 'the core does not do this of its own accord',
      spec: 'StepDown',
    });
  });

  it('are not followed by a core that lets others vote than it should', () => {
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
      const view = (): ReplicaView => {
        const real = driver.view();
        const { configuration } = real;
        const voters = configuration.version === 2 ? configuration.voters.slice(1) : configuration.voters;
        return { ...real, configuration: { ...configuration, voters } };
      };
      return { ...driver, view };
    });
    expect(divergence?.what).toMatch(/: configuration$/);
  });

  it('are not followed by a core that does not take on what its database holds', () => {
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
      return {
        ...driver,
        take: (action) => (action.name === 'Restored' ? { events: [], sent: [] } : driver.take(action)),
      };
    });
    expect(divergence).toMatchObject({ what: 'the core does something else', spec: 'Restored' });
  });

  it('are not followed by a core that does not hear a message', () => {
    const divergence = firstDivergence((id) => {
      const driver = createDriver(id);
      return {
        ...driver,
        take: (action) => (action.name === 'HandlePromise' ? { events: [], sent: [] } : driver.take(action)),
      };
    });
    expect(divergence).toMatchObject({ what: 'the core does something else', spec: 'HandlePromise' });
  });
});
