import { describe, expect, it } from 'vitest';
import { readTlcTrace } from './tlc-trace.ts';

const printed = `Error: Invariant Safe is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
/\\ msgs = {}
/\\ clock = <<0, 0>>

State 2: <Send line 12, col 3 to line 14, col 30 of module Wire>
/\\ msgs = { [ type |-> "Ask for  more",
    from |-> 1 ] }
/\\ clock = <<0, 0>>

State 3: <Action line 20, col 1 to line 20, col 9 of module Wire>
/\\ msgs = {}
/\\ clock = <<0, 1>>

`;

describe('a behaviour that TLC printed', () => {
  it('is read as what each step is, where it stands, and what it changes', () => {
    const { steps, loop } = readTlcTrace(printed);
    expect(loop).toBeNull();
    expect(steps.map(({ action, changed }) => [action, changed])).toEqual([
      [null, { msgs: '{}', clock: '<<0,0>>' }],
      ['Send', { msgs: '{[type|->"Ask for  more",from|->1]}' }],
      [null, { msgs: '{}', clock: '<<0,1>>' }],
    ]);
    expect(steps[1]?.place).toEqual({ module: 'Wire', line: 12, column: 3, endLine: 14, endColumn: 30 });
  });

  it('may go on for ever, by doing nothing or from a state before', () => {
    expect(readTlcTrace(`${printed}State 4: Stuttering\n`).loop).toEqual({ kind: 'stutters' });
    const back = `${printed}Back to state 2: <Send line 12, col 3 to line 14, col 30 of module Wire>\n`;
    expect(readTlcTrace(back).loop).toEqual({ kind: 'back', state: 2, action: 'Send' });
  });

  it('has a variable without a list before it where that is the only one', () => {
    expect(readTlcTrace('State 1: <Initial predicate>\nturn = 3\n\n').steps[0]?.changed).toEqual({
      turn: '3',
    });
  });

  it('is refused where a state is missing, or there is none', () => {
    expect(() => readTlcTrace(printed.replace('State 2', 'State 5'))).toThrow('state 5 where state 2');
    expect(() => readTlcTrace('Error: Parsing failed')).toThrow('no behaviour');
  });
});
