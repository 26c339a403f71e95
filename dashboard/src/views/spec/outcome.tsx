/** What is broken at the end of a counterexample: the invariant or property by its name, its text, and the part of it that is false. */
import { useMemo } from 'react';
import { type Counterexample, statesOf } from '../../spec/counterexample.ts';
import { falseClaim, open, valuesOf } from '../../spec/opened-model.ts';
import { type Violation, violationOf } from '../../spec/violation.ts';
import type { ModelText } from '../../spec/walk.ts';
import { Broken } from './broken.tsx';

interface OutcomeProps {
  readonly counterexample: Counterexample;
  readonly text: ModelText;
}

const words: Readonly<Record<Violation['of'], string>> = {
  state: 'does not hold in this state',
  step: 'does not allow this step',
  behaviour: 'never comes about',
};

export function Outcome({ counterexample, text }: OutcomeProps) {
  const { violated, loop } = counterexample;
  const { of, names } = violationOf(counterexample);
  const claim = useMemo(() => claimOf(counterexample, text), [counterexample, text]);
  return (
    <section className="spec-outcome" data-testid="outcome" data-violated={violated} data-of={of}>
      <h3>
        <span className="dot" data-tone="bad" aria-hidden="true" />
        {names.map((name) => (
          <span key={name} className="mono">
            {name}
          </span>
        ))}
        {words[of]}
      </h3>
      {loop === null ? null : (
        <p>
          {loop.kind === 'stutters'
            ? 'From here on nothing happens any more that must happen.'
            : `From here it goes back to step ${loop.state - 1}, and so on for ever.`}
        </p>
      )}
      {names.map((name) => (
        <Broken key={name} name={name} text={text} claim={claim} />
      ))}
    </section>
  );
}

function claimOf(counterexample: Counterexample, text: ModelText) {
  const { violated, module, config } = counterexample;
  const opened = open(text, module, config);
  if (!opened.ok || !opened.model.invariants.includes(violated)) return null;
  const last = statesOf(counterexample).at(-1)!;
  return falseClaim(opened.model, text, violated, valuesOf(opened.model, last));
}
