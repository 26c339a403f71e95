import { describe, expect, it } from 'vitest';
import { parseTlcOutput, sanyProblem } from './tlc-output.ts';

const COUNTS = '1,234 states generated, 567 distinct states found, 0 states left on queue.\n';

describe('what TLC prints', () => {
  it('gives the last state count, not one of the progress lines', () => {
    const output = `Progress(4) at 2026-01-01 00:00:00: 5 states generated, 4 distinct states found, 0 states left on queue.\n${COUNTS}`;
    expect(parseTlcOutput(output)).toEqual({
      distinctStates: 567,
      generatedStates: 1234,
      violated: null,
      traceLength: 0,
    });
  });

  it('names a violated invariant and counts the states that lead there', () => {
    const output = `Error: Invariant Agreement is violated.\nState 1: <Initial predicate>\nState 2: <Next line 1>\n${COUNTS}`;
    expect(parseTlcOutput(output)).toMatchObject({ violated: 'Agreement', traceLength: 2 });
  });

  it('names a violated action property', () => {
    expect(parseTlcOutput('Error: Action property Step is violated.\n').violated).toBe('Step');
  });

  it('names the module of a refined step that is violated', () => {
    const output =
      'Error: Action property line 33, col 17 to line 33, col 29 of module Consensus is violated.\n';
    expect(parseTlcOutput(output).violated).toBe('Consensus');
  });

  it('tells liveness and deadlock apart', () => {
    expect(parseTlcOutput('Error: Temporal properties were violated.\n').violated).toBe('Temporal');
    expect(parseTlcOutput('Error: Deadlock reached.\n').violated).toBe('Deadlock');
  });

  it('has no count when TLC did not get that far', () => {
    expect(parseTlcOutput('Error: Parsing or semantic analysis failed.\n').distinctStates).toBeNull();
  });

  it('counts the states of a simulation', () => {
    expect(parseTlcOutput('The number of states generated: 4321\n').generatedStates).toBe(4321);
  });
});

describe('what SANY prints', () => {
  it('is fine when the module itself was processed', () => {
    expect(
      sanyProblem('Semantic processing of module Naturals\nSemantic processing of module A\n', 'A'),
    ).toBeNull();
  });

  it('is not fine when only another module was', () => {
    expect(sanyProblem('Semantic processing of module Naturals\n', 'A')).toContain(
      'did not process module A',
    );
  });

  it('carries the errors though SANY exits with 0', () => {
    const output =
      'Semantic processing of module A\nSemantic errors:\n\n*** Errors: 1\n\nUnknown operator: `y`.\n';
    expect(sanyProblem(output, 'A')).toContain('Unknown operator: `y`');
  });

  it('carries a parse error', () => {
    expect(sanyProblem('***Parse Error***\n\n  Precedence conflict\n', 'A')).toContain('Precedence conflict');
  });
});
