/** The second judge: behaviours of the spec, which the core must follow. They were made before, once for all mutants. */
import { readFileSync } from 'node:fs';
import { expect, inject, it } from 'vitest';
import { replayAll } from '../../../conformance/replay/replay-command.ts';
import type { TlaState } from '../../../conformance/replay/tla-value.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly behavioursFile: string;
  }
}

it('a mutant follows behaviours of the spec', () => {
  const behaviours = JSON.parse(readFileSync(inject('behavioursFile'), 'utf8')) as TlaState[][];
  expect(replayAll(behaviours).failed).toBeNull();
});
