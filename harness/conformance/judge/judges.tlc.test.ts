/** Both judges are given the same models, and must print the same: which segments are matched, and how far each gets. Needs Java (TLC). */
import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { leaseMutants } from '../lease/lease-mutants.ts';
import { leaseSteps } from '../lease/lease-steps.ts';
import { leaseModel } from '../lease/lease-trace.ts';
import { applyMutants, applyVariants } from '../trace/apply-mutants.ts';
import { applyItems } from '../trace/apply-items.ts';
import { applySteps } from '../trace/apply-steps.ts';
import { applyModel } from '../trace/apply-trace.ts';
import { readTrace } from '../trace/check-trace.ts';
import { mutants, type MutantKind } from '../trace/mutants.ts';
import { mutate } from '../trace/mutate.ts';
import { NothingToAlterError } from '../trace/nothing-to-alter.ts';
import { orderTrace } from '../trace/read-trace.ts';
import { batchesOf } from '../trace/run-segments.ts';
import { segmentLiteral } from '../trace/segment-literal.ts';
import { cutSegments } from '../trace/segments.ts';
import { traceModule, type Piece } from '../trace/trace-module.ts';
import { judges } from './judges.ts';
import type { Judge, RecordedModel } from './recorded-model.ts';

/** Of an altered trace: behind an alteration nearly everything is another state. */
const SEGMENTS_OF_EACH = 3;
const SEEDS_MAX = 1_000_000_000;

/** What a judge printed, in one order; or that it has no verdict. */
async function printedBy(judge: Judge, model: RecordedModel): Promise<readonly string[]> {
  try {
    const output = await judge(model);
    const lines = [...output.matchAll(/<<"(?:matched|reached)"[^>]*>>/g)].map(([line]) => line);
    return [...new Set(lines)].sort();
  } catch {
    return ['no verdict'];
  }
}

/** @returns how many lines both printed */
async function expectAgreement(model: RecordedModel): Promise<number> {
  const printed = await printedBy(judges.typescript, model);
  expect(printed).toEqual(await printedBy(judges.tlc, model));
  return printed.length;
}

async function expectAgreementOn(pieces: readonly Piece[]): Promise<void> {
  for (const batch of batchesOf(pieces))
    expect(await expectAgreement(traceModule(batch, { diagnose: true }))).toBeGreaterThan(1);
}

function alteredPieces(recorded: readonly TraceEvent[]): Piece[] {
  const known = new Set(piecesOf(recorded).map(({ segment, trace }) => segmentLiteral(segment, trace)));
  return (Object.keys(mutants) as MutantKind[]).flatMap((kind) => {
    const events = unlessNothing(() => mutate(recorded, kind).events);
    const pieces = events === null ? [] : piecesOf(events);
    const altered = pieces.filter(({ segment, trace }) => !known.has(segmentLiteral(segment, trace)));
    return altered.slice(0, SEGMENTS_OF_EACH);
  });
}

/** Whatever they contradict: the specification alone judges. */
function piecesOf(events: readonly TraceEvent[]): Piece[] {
  const trace = orderTrace(events);
  return cutSegments(trace).segments.map((segment) => ({ segment, trace }));
}

function unlessNothing<T>(alter: () => T): T | null {
  try {
    return alter();
  } catch (error) {
    if (error instanceof NothingToAlterError) return null;
    throw error;
  }
}

describe('the two judges agree', () => {
  it('on runs of the core, old ones and new ones, to the last step', async () => {
    const first = randomInt(1, SEEDS_MAX);
    const recorded = [
      await recordGroup(14),
      await recordGroup(10, 'losses'),
      await recordGroup(first),
      await recordGroup(first, 'losses'),
    ];
    const pieces = recorded.flatMap((events) => readTrace(events).pieces);
    await expectAgreementOn(pieces).catch((cause: unknown) => {
      throw new Error(`the judges differ on seed 14, 10 or ${first}`, { cause });
    });
  });

  it.each([
    ['default', 14],
    ['losses', 10],
  ] as const)('on every alteration of a run of the mix %s, at the same step', async (mix, seed) => {
    await expectAgreementOn(alteredPieces(await recordGroup(seed, mix)));
  });

  it('on runs of whole replicas, and on every alteration of what they tell of their databases, at the same step', async () => {
    const alterations = new Set(Object.values({ ...applyVariants, ...applyMutants }));
    for (const seed of [1, 2, 3]) {
      const recorded = await recordGroup(seed);
      const altered = [...alterations].flatMap((alter) => {
        const events = unlessNothing(() => alter(recorded));
        if (events === null) return [];
        // Of the first run in which there is what it alters.
        alterations.delete(alter);
        return [events];
      });
      const runs = [recorded, ...altered].map((events) => applySteps(applyItems(events)));
      expect(await expectAgreement(applyModel(runs))).toBeGreaterThan(altered.length);
    }
  });

  it('on runs of whole replicas, old ones and a new one, and on every alteration of what they tell of their leases, at the same step', async () => {
    const fresh = randomInt(1, SEEDS_MAX);
    const alterations = new Set(Object.values(leaseMutants));
    // Another one each time first: the alterations are those of other runs each time.
    for (const seed of [fresh, 1, 2, 3]) {
      const recorded = await recordGroup(seed);
      const altered = [...alterations].flatMap((alter) => {
        const mutated = unlessNothing(() => alter(recorded));
        if (mutated === null) return [];
        alterations.delete(alter);
        return [mutated.events];
      });
      const runs = [recorded, ...altered].map((events) => leaseSteps(events)!);
      const printed = await expectAgreement(leaseModel(runs)).catch((cause: unknown) => {
        throw new Error(`the judges differ on the leases of group ${seed}`, { cause });
      });
      expect(printed).toBeGreaterThan(altered.length);
    }
  });

  it('on what cannot be evaluated: neither has a verdict', async () => {
    const [piece] = piecesOf(await recordGroup(14));
    const model = traceModule([piece!], {});
    const literal = model.data.literal.replace('init|->', 'begin|->');
    const wrong = { ...model, data: { ...model.data, literal } };
    expect(await printedBy(judges.typescript, wrong)).toEqual(['no verdict']);
    expect(await printedBy(judges.tlc, wrong)).toEqual(['no verdict']);
  });
});
