import { describe, expect, it } from 'vitest';
import { calm, losses, optionsOfSeed } from './options.ts';
import { findFailure, simulate } from './simulation.ts';
import { recordTrace } from './trace-recorder.ts';

describe('a simulated group', () => {
  it('keeps every rule under the faults of 100 seeds with three replicas', () => {
    expect(findFailure(1, 100, { steps: 4000 })?.failure).toBeUndefined();
  });

  it('keeps every rule under the faults of 60 seeds with five replicas', () => {
    expect(findFailure(1, 60, { steps: 4000, replicas: 5 })?.failure).toBeUndefined();
  });

  it('keeps every rule with one replica', () => {
    expect(findFailure(1, 20, { steps: 2000, replicas: 1 })?.failure).toBeUndefined();
  });

  it('is a function of its seed, whether it is watched or not', () => {
    const traces = [1, 2].map(() => recordTrace(100_000));
    const results = traces.map((trace) => simulate(optionsOfSeed(7, { steps: 3000 }), trace));
    const unwatched = simulate(optionsOfSeed(7, { steps: 3000 }));
    expect(traces[0]!.events.length).toBeGreaterThan(300);
    expect(traces[0]!.events).toEqual(traces[1]!.events);
    expect(results[0]).toEqual(unwatched);
  });

  it('answers its clients when nothing fails', () => {
    const result = simulate({ ...calm, steps: 5000 });
    expect(result.failure).toBeNull();
    expect(result.acknowledgedWrites).toBeGreaterThan(200);
    expect(result.reads).toBeGreaterThan(100);
  });

  it('takes each action of the core, crashes included', () => {
    const names = new Set<string>();
    for (let seed = 1; seed <= 30; seed += 1) {
      const trace = recordTrace(100_000);
      simulate(optionsOfSeed(seed, { steps: 3000 }), trace);
      for (const event of trace.events) names.add(event.name);
    }
    expect([...names].sort()).toEqual([
      'AdvanceCommitPoint',
      'BecomeLeader',
      'Crash',
      'Fsync',
      'HandleAccept',
      'HandleAccepted',
      'HandleCatchUpReply',
      'HandleHeartbeat',
      'HandlePrepare',
      'HandlePromise',
      'HandleReject',
      'LearnConfiguration',
      'Propose',
      'Reconfigure',
      'Restart',
      'Restored',
      'Serve',
      'StartElection',
      'StepDown',
    ]);
  });

  it('heals after wipes, and lets members come and go, under faults of all kinds', () => {
    const result = simulate({ ...calm, ...losses, steps: 20_000 });
    expect(result.failure).toBeNull();
    expect(result.recoveries).toMatchObject({
      logsLost: expect.any(Number),
      databasesLost: expect.any(Number),
    });
    for (const count of Object.values(result.recoveries)) expect(count).toBeGreaterThan(3);
  });

  it('keeps every rule with five replicas that lose their disks one after the other, and together', () => {
    expect(findFailure(1, 30, { ...losses, steps: 4000, replicas: 5 })?.failure).toBeUndefined();
  });

  it('loses data, and says so, once majorities are wiped', () => {
    const faults = { ...losses.faults!, wipesMajorities: true };
    const result = findFailure(1, 20, { ...losses, faults, steps: 5000 });
    expect(result?.failure).not.toBeUndefined();
  });

  it('breaks its leases once clocks drift apart far beyond the stated bound', () => {
    const clocks = { skewMsMax: 1000, driftMax: 4, driftIntervalMsMean: 50 };
    const faults = { ...calm.faults, crashIntervalMsMean: 300, partitionIntervalMsMean: 300 };
    const result = findFailure(1, 400, { steps: 5000, clocks, faults });
    expect(['OneLeaseHolder', 'Linearizable']).toContain(result?.failure?.rule);
  });
});
