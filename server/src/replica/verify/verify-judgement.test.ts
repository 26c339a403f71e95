import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import {
  type DataDigest,
  type DigestObject,
  sequencesName,
  type SkippedObject,
  storedElsewhere,
} from '../../ports/control.ts';
import { judge, type Judgement, type Reported } from './verify-judgement.ts';

const ids = ['r1', 'r2', 'r3', 'r4', 'r5'] as const;
const table = (name: string, rows: number, digest: string): DigestObject => ({
  database: 'app',
  kind: 'table',
  name,
  rows,
  digest,
});
const sequence = (digest: string): DigestObject => ({ ...table('s', 0, digest), kind: 'sequence' });
const right = [table('a', 2, 'x'), table('b', 1, 'y')];
const wrong = [table('a', 3, 'x'), table('c', 1, 'y')];
const otherwiseWrong = [table('a', 2, 'z'), table('b', 1, 'y')];

function digest(objects: readonly DigestObject[], more: Partial<DataDigest> = {}): DataDigest {
  return { slot: 9 as Slot, objects, skipped: [], hasSequences: true, ...more };
}

function has(objects: readonly DigestObject[], more: Partial<DataDigest> = {}): Omit<Reported, 'replica'> {
  return { digest: digest(objects, more), reason: '', isFenced: false };
}
const silent = { digest: null, reason: 'away', isFenced: false };
const fenced = { digest: null, reason: 'at slot 8 its data differed', isFenced: true };

interface Options {
  readonly voters?: readonly string[];
  readonly repair?: boolean;
}

/** Of r1, r2 and so on; they all vote. */
function judged(
  reports: readonly Omit<Reported, 'replica'>[],
  { voters, repair = false }: Options = {},
): Judgement {
  const members = ids.slice(0, reports.length);
  return judge({
    slot: 9 as Slot,
    reports: reports.map((report, index) => ({ ...report, replica: ids[index] as ReplicaId })),
    voters: (voters ?? members) as ReplicaId[],
    repair,
  });
}

const outcomes = ({ result }: Judgement): readonly string[] =>
  result.replicas.map(({ outcome, detail }) => [outcome, ...detail].join('; '));
const told = (judgement: Judgement): readonly string[] => judgement.told.map(({ replica }) => replica);

describe('a comparison', () => {
  it('finds the same objects equal, in whatever order', () => {
    const judgement = judged([has(right), has(right.toReversed()), has(right)]);
    expect(outcomes(judgement)).toEqual(['equal', 'equal', 'equal']);
    expect([judgement.told, judgement.result.advice]).toEqual([[], []]);
    expect(judgement.result.leftOut).toBe(0);
  });

  it('compares all that has one name', () => {
    const twice = (digestOfFirst: string) => [...right, table('t', 1, digestOfFirst), table('t', 1, 'last')];
    const judgement = judged([has(twice('x')), has(twice('x')), has(twice('altered'))]);
    expect(outcomes(judgement)).toEqual(['equal', 'equal', 'differs; table t of app']);
  });

  it('counts what was not compared, but for what is stored elsewhere', () => {
    const skipped = ['it lets nobody in', storedElsewhere].map((reason, index) => ({
      database: 'd',
      name: `t${index}`,
      reason,
    }));
    const { result } = judged([has(right, { skipped }), has(right, { skipped })]);
    expect([result.leftOut, result.advice]).toEqual([
      1,
      [`Not compared by all: t0 of d (it lets nobody in), t1 of d (${storedElsewhere}).`],
    ]);
  });

  it('says which replica differs from the majority, and in what', () => {
    const judgement = judged([has(right), has(wrong), has(right)]);
    expect(outcomes(judgement)).toEqual([
      'equal',
      'differs; table a of app (3 rows, not 2); table b of app is missing; table c of app is not in the others',
      'equal',
    ]);
    expect([told(judgement), judgement.equal]).toEqual([['r2'], ['r1', 'r3']]);
    expect(judgement.result.advice).toEqual([
      'r2 serves and leads no more. "barista verify --repair" has it take a copy of the database of r1 or r3; what it has is set aside then.',
    ]);
    expect(judged([has(right), has(wrong), has(right)], { repair: true }).result.advice).toEqual([
      'r2 takes a copy of the database of r1 or r3, and what it had is set aside. "barista status" shows how far that is.',
    ]);
  });

  it('tells two of five that differ in different ways, for three are right', () => {
    const judgement = judged([has(right), has(wrong), has(right), has(otherwiseWrong), has(right)]);
    expect([told(judgement), judgement.equal]).toEqual([
      ['r2', 'r4'],
      ['r1', 'r3', 'r5'],
    ]);
    expect(judgement.result.advice[0]).toMatch(/^Each of r2, r4 serves and leads no more\./);
  });

  it('proves nothing by one report of three, and everything by that of a group of one', () => {
    const judgement = judged([has(right), silent, silent]);
    expect(outcomes(judgement)[0]).toBe('noReport; no majority of the voters has reported');
    expect(judgement.result.advice).toEqual([
      'What r1 has is confirmed by no majority of the voters: compare again when the others are back.',
    ]);
    expect(outcomes(judged([has(right)]))).toEqual(['equal']);
  });

  it('counts no learners, however many have the same', () => {
    const reports = [has(right), has(otherwiseWrong), has(otherwiseWrong), has(otherwiseWrong)];
    const judgement = judged(reports, { voters: ['r1'] });
    expect([outcomes(judgement)[0], told(judgement)]).toEqual(['equal', ['r2', 'r3', 'r4']]);
    expect(told(judged(reports, { voters: ['r1', 'r2'] }))).toEqual([]);
  });
});

describe('without a majority', () => {
  it.each([false, true])(
    'two that differ are both left alone, and the operator is told what to do (repair: %s)',
    (repair) => {
      const judgement = judged([has(right), has(otherwiseWrong), silent], { repair });
      expect(outcomes(judgement)).toEqual([
        'differs; no majority agrees; table a of app',
        'differs; no majority agrees; table a of app',
        'noReport; away',
      ]);
      expect(judgement.told).toEqual([]);
      const [first, ...rest] = judgement.result.advice;
      expect(first).toMatch(
        /^r1, r2 contradict each other, and no majority of the voters has the same: nobody is told/,
      );
      expect(first?.includes('nothing is repaired')).toBe(repair);
      expect(rest).toEqual([
        'r3 may decide: compare again when there is a report of all.',
        expect.stringMatching(
          /^Else decide yourself which one is right\. Stop all others, move the folder "postgres"/,
        ),
      ]);
    },
  );

  it('three that differ in different tables tell nobody, though each table has a majority', () => {
    const judgement = judged([has(otherwiseWrong), has([right[0]!, table('b', 7, 'y')]), has(right)], {
      repair: true,
    });
    expect(outcomes(judgement)).toEqual([
      'differs; no majority agrees; table a of app',
      'differs; no majority agrees; table b of app (7 rows, not 1)',
      'differs; no majority agrees',
    ]);
    expect(judgement.told).toEqual([]);
  });
});

describe('a replica that is fenced', () => {
  it('differs for as long as a majority agrees, and has only a repair to be told of', () => {
    const reports = [has(right), has(right), fenced];
    expect(outcomes(judged(reports))[2]).toBe('differs; at slot 8 its data differed');
    expect(judged(reports).told).toEqual([]);
    expect(judged(reports).result.advice[0]).toMatch(
      /^r3 serves and leads no more\. "barista verify --repair" has it/,
    );
    const repaired = judged(reports, { repair: true });
    expect([told(repaired), repaired.equal]).toEqual([['r3'], ['r1', 'r2']]);
  });

  it('has no vote: two of three that are fenced destroy nothing, and take copies of the third', () => {
    const reports = [has(right), fenced, fenced];
    expect(judged(reports).told).toEqual([]);
    const judgement = judged(reports, { repair: true });
    expect([told(judgement), judgement.equal]).toEqual([['r2', 'r3'], ['r1']]);
    expect(outcomes(judgement)[0]).toBe('noReport; no majority of the voters has reported');
    expect(judgement.result.advice).toEqual([
      'Each of r2, r3 takes a copy of the database of r1, and what it had is set aside. "barista status" shows how far that is.',
      'What r1 has is confirmed by no majority of the voters: compare again when the others are back.',
    ]);
  });

  it('is not repaired while those that could be copied from contradict each other', () => {
    const judgement = judged([has(right), has(otherwiseWrong), fenced], { repair: true });
    expect(judgement.told).toEqual([]);
    expect(outcomes(judgement)[2]).toBe('noReport; at slot 8 its data differed');
    // And it has no word in who is right.
    expect(judgement.result.advice.join(' ')).not.toMatch(/may decide/);
  });

  it('is not repaired where nobody has anything', () => {
    expect(judged([silent, fenced, fenced], { repair: true }).told).toEqual([]);
  });
});

describe('whoever leaves an object out', () => {
  const skipped = (name: string): readonly SkippedObject[] => [{ database: 'app', name, reason: 'altered' }];

  it('abstains there, and is told by all what was left out', () => {
    const judgement = judged([has(right), has([right[1]!], { skipped: skipped('a') }), has(right)]);
    expect(outcomes(judgement)).toEqual(['equal', 'equal', 'equal']);
    expect(judgement.result.advice).toEqual(['Not compared by all: a of app (altered).']);
    expect(outcomes(judged([has(right), has([], { skipped: skipped('') }), has(right)]))[1]).toBe('equal');
  });

  it('abstains where it has left out what all databases share, or the sequences of a database', () => {
    const shared: DigestObject = { ...table('pg_authid', 5, 'x'), database: '' };
    const all = has([...right, shared, sequence('33')]);
    const skipped = [
      { database: '', name: '', reason: 'late' },
      { database: 'app', name: sequencesName, reason: 'late' },
    ];
    const judgement = judged([all, has(right, { skipped }), all]);
    expect(outcomes(judgement)).toEqual(['equal', 'equal', 'equal']);
    expect(judgement.result.advice).toEqual([
      'Not compared by all: what all databases share (late), sequences of app (late).',
    ]);
    expect(outcomes(judged([all, has(right.slice(1), { skipped }), all]))[1]).toMatch(/^differs/);
  });

  it('makes no majority: one against one stays undecided', () => {
    const judgement = judged([
      has(right),
      has([right[1]!], { skipped: skipped('a') }),
      has([table('a', 2, 'other'), right[1]!]),
    ]);
    expect(judgement.told).toEqual([]);
    expect(outcomes(judgement)).toEqual([
      'differs; no majority agrees; table a of app',
      'differs; no majority agrees',
      'differs; no majority agrees; table a of app',
    ]);
  });

  it('is wrong where it did compare', () => {
    const judgement = judged([has(right), has([table('b', 9, 'y')], { skipped: skipped('a') }), has(right)]);
    expect(told(judgement)).toEqual(['r2']);
  });

  it('does not miss what the others have left out', () => {
    const judgement = judged([has(right), has([right[1]!]), has([right[1]!], { skipped: skipped('a') })]);
    expect(judgement.told).toEqual([]);
    expect(outcomes(judgement)[1]).toBe('differs; no majority agrees; table a of app is missing');
  });
});

describe('sequences', () => {
  it('are compared among standbys: a primary leaves them out', () => {
    const primary = has(right, { hasSequences: false });
    const at = (value: string) => has([...right, sequence(value)]);
    expect(outcomes(judged([primary, at('33'), at('33')]))).toEqual(['equal', 'equal', 'equal']);
    expect(outcomes(judged([primary, at('33'), at('')]))[2]).toBe(
      'differs; no majority agrees; sequence s of app (at its start, not 33)',
    );
    const five = judged([primary, at('33'), at('33'), at('66'), at('33')]);
    expect(told(five)).toEqual(['r4']);
    expect(outcomes(judged([primary, at('33'), at('33'), has(right), at('33')]))[3]).toBe(
      'differs; sequence s of app is missing',
    );
  });
});
