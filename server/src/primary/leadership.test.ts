import { describe, expect, it } from 'vitest';
import { configOf, id, OneCore, ofKind, sent } from './testing/one-core.ts';

const pair = { replicas: [id('r1'), id('r2')] };
const to = (effects: ReturnType<OneCore['flush']>, copy: string) =>
  sent(effects, 'Operations').flatMap((each) => (each.to === copy ? [each.message] : []));

describe('a primary', () => {
  it('sends an operation before its own disk has it', () => {
    const core = new OneCore().lead();
    const [message] = to(core.propose(1, 'async'), 'r2');
    expect([message?.prevSlot, message?.prevEpoch, message?.entries.length]).toEqual([
      1,
      core.state.promised,
      1,
    ]);
  });

  it('sends again, from the last that was received on, what was not answered in time', () => {
    const core = new OneCore().lead();
    core.propose(1, 'async');
    core.propose(2, 'async');
    const resent = [...core.tick(20), ...core.tick(20)].filter((effect) => effect.kind === 'send');
    const messages = to(resent, 'r2').filter(({ entries }) => entries.length > 0);
    expect(messages.map(({ prevSlot, entries }) => [prevSlot, entries.length])).toEqual([[1, 2]]);
  });

  it('sends signs of life when it has nothing to say', () => {
    const core = new OneCore().lead();
    core.tick(0);
    expect(to(core.tick(19), 'r2')).toEqual([]);
    expect(to(core.tick(1), 'r2').map(({ entries }) => entries.length)).toEqual([0]);
  });

  it('goes back once for many failures of one order check', () => {
    const core = new OneCore().lead();
    for (let request = 1; request <= 4; request += 1) core.propose(request, 'async');
    core.nowMs += 50;
    expect(to(core.received('r2', 1, { goOnFrom: 2 }), 'r2').length).toBeGreaterThan(0);
    expect(to(core.received('r2', 1, { goOnFrom: 2 }), 'r2')).toEqual([]);
  });

  it('has no more on its way to a copy, and no more that is not settled, than the window', () => {
    const core = new OneCore().lead();
    for (let request = 1; request <= 9; request += 1) core.propose(request, 'async');
    expect(ofKind(core.effects, 'refused').map(({ code }) => code)).toEqual(['windowFull']);
    expect(ofKind(core.effects, 'proposed')).toHaveLength(8);
  });

  it('takes no more bytes than the window', () => {
    const core = new OneCore(configOf({ windowBytesMax: 80 })).lead();
    core.propose(1, 'async');
    expect(ofKind(core.propose(2, 'async'), 'refused').map(({ code }) => code)).toEqual(['windowFull']);
  });

  it('puts no more into one message than it may', () => {
    const core = new OneCore(configOf({ batchBytesMax: 100 })).lead();
    for (let request = 1; request <= 3; request += 1) core.propose(request, 'async');
    core.nowMs += 50;
    const resent = to(core.tick(0), 'r2').filter(({ entries }) => entries.length > 0);
    expect(resent.map(({ entries }) => entries.length)).toEqual([1, 1, 1]);
  });

  it('refuses what is under way already, and takes it again when it is answered', () => {
    const core = new OneCore().lead();
    core.propose(1, 'async');
    expect(ofKind(core.propose(1, 'async'), 'refused').map(({ code }) => code)).toEqual(['duplicate']);
    core.flush();
    expect(ofKind(core.propose(1, 'async'), 'proposed')).toHaveLength(1);
  });

  it('offers none to nobody where the group replicates, and nothing else where it does not', () => {
    expect(ofKind(new OneCore().lead().propose(1, 'none'), 'refused').map(({ code }) => code)).toEqual([
      'levelNotOffered',
    ]);
    const alone = new OneCore(configOf({ replication: 'none' })).lead([]);
    expect(ofKind(alone.propose(1, 'semi'), 'refused').map(({ code }) => code)).toEqual(['levelNotOffered']);
    expect(sent(alone.tick(100), 'Operations')).toEqual([]);
  });

  it('answers nobody before its epoch is settled', () => {
    const core = new OneCore().lead([]);
    expect(ofKind(core.propose(1), 'refused').map(({ code }) => code)).toEqual(['alone']);
  });

  it('answers nobody when it hears too few others, and again when it does', () => {
    const core = new OneCore().lead();
    core.tick(101);
    expect(ofKind(core.propose(1), 'refused').map(({ code }) => code)).toEqual(['alone']);
    expect(ofKind(core.effects, 'leadership').at(-1)?.serving).toBe(false);
    core.received('r3', 1);
    expect(ofKind(core.propose(2), 'proposed')).toHaveLength(1);
  });

  it('is in touch by when it sent what is answered, and not by when the answer came', () => {
    const core = new OneCore().lead();
    const sentAtMs = core.nowMs;
    core.nowMs += 101;
    const { group } = core.state.config;
    const { promised: epoch, lastSlot } = core.state;
    core.receive('r2', {
      kind: 'Received',
      group,
      epoch,
      received: lastSlot,
      executed: lastSlot,
      goOnFrom: null,
      needsCopy: false,
      sentAtMs,
    });
    expect(ofKind(core.propose(1), 'refused').map(({ code }) => code)).toEqual(['alone']);
  });

  it('of two answers nobody when it does not hear the other, but where silent copies are dropped', () => {
    const stops = new OneCore(configOf(pair)).lead(['r2']);
    stops.tick(101);
    expect(ofKind(stops.propose(1), 'refused').map(({ code }) => code)).toEqual(['alone']);
    const goesOn = new OneCore(configOf({ ...pair, dropSilentCopies: true })).lead(['r2']);
    goesOn.tick(101);
    expect(ofKind(goesOn.propose(1), 'proposed')).toHaveLength(1);
  });

  it('is the only one that takes proposals', () => {
    expect(ofKind(new OneCore().propose(1), 'refused').map(({ code }) => code)).toEqual(['notLeader']);
  });
});
