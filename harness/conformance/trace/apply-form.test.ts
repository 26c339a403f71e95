import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ApplyEvent } from './apply-event.ts';
import { applyContradictionIn, applyForms, malformedApply } from './apply-form.ts';

const ballot = { round: 1, replica: 'r1' };
const values: Readonly<Record<string, unknown>> = {
  place: 8,
  recordEnd: 16,
  number: 1,
  label: 'r1.a/1',
  ballot,
  xid: '7',
  xids: ['7'],
  truth: true,
  replica: 'r2.2',
  text: 'a reason',
};
const none: Readonly<Record<string, unknown>> = {
  place: -1,
  recordEnd: 17,
  number: 0.5,
  label: 'r1.a',
  ballot: { round: 1 },
  xid: '7x',
  xids: ['x'],
  truth: 'true',
  replica: '',
  text: '',
};

type Fields = Readonly<Record<string, unknown>>;

const made = (fields: Fields): TraceEvent[] =>
  [{ seq: 1, run: 'a', replica: 'r1', atUs: 1, layer: 'apply', ...fields }] as unknown as TraceEvent[];

const whole = (name: keyof typeof applyForms): Fields => ({
  name,
  ...Object.fromEntries(
    Object.entries(applyForms[name]).map(([field, kind]) => [
      field,
      typeof kind === 'string' ? values[kind] : kind[0],
    ]),
  ),
});

const allNames = Object.keys(applyForms) as (keyof typeof applyForms)[];

it.each(allNames)('a %s has the fields that it has, each with a value of its kind, and no others', (name) => {
  const event = whole(name);
  expect(malformedApply(made(event)[0] as ApplyEvent)).toBeNull();
  expect(applyContradictionIn(made({ ...event, other: 1 }))?.reason).toBe(`${name} has no other`);
  for (const [field, kind] of Object.entries(applyForms[name])) {
    const { [field]: _gone, ...less } = event;
    expect(applyContradictionIn(made(less))?.reason).toBe(`its ${field} is missing`);
    const wrong = typeof kind === 'string' ? none[kind] : 'another';
    expect(applyContradictionIn(made({ ...event, [field]: wrong }))?.reason).toMatch(
      `is no ${field} of ${name}`,
    );
  }
});

it('an event of another name is none', () => {
  expect(applyContradictionIn(made({ name: 'Ships' }))?.reason).toBe('Ships is no event of the layer apply');
});

it('what a run tells is of its replica: in any life before its log begins, in one from there on', () => {
  const restart = {
    ...made({})[0]!,
    seq: 2,
    layer: 'consensus',
    name: 'Restart',
    replica: 'r1.2',
    state: {},
  };
  const told = (seq: number, replica: string): string | undefined => {
    const event = { ...made(whole('EndWait'))[0]!, seq, replica };
    return applyContradictionIn([event, restart] as unknown as TraceEvent[])?.reason;
  };
  expect(told(1, 'r1')).toBeUndefined();
  expect(told(3, 'r1.2')).toBeUndefined();
  expect(told(3, 'r1')).toBe('EndWait is told by r1 in a run of r1.2');
  expect(told(1, 'r2')).toBe('EndWait is told by r2 in a run of r1.2');
});
