/** What is broken at the end of a counterexample: the invariant or property by its name, its text, and the part of it that is false. */
import { useMemo } from 'react';
import { type Counterexample, statesOf } from '../../spec/counterexample.ts';
import { falseClaim, open, valuesOf } from '../../spec/opened-model.ts';
import type { ModelText } from '../../spec/walk.ts';
import { Broken } from './broken.tsx';

interface OutcomeProps {
  readonly counterexample: Counterexample;
  readonly text: ModelText;
}

export function Outcome({ counterexample, text }: OutcomeProps) {
  const { violated, config, loop } = counterexample;
  const names = violated === 'Temporal' ? propertiesIn(config) : [violated];
  const claim = useMemo(() => claimOf(counterexample, text), [counterexample, text]);
  return (
    <section className="spec-outcome" data-testid="outcome" data-violated={violated}>
      <h3>
        <span className="dot" data-tone="bad" aria-hidden="true" />
        {names.map((name) => (
          <span key={name} className="mono">
            {name}
          </span>
        ))}
        {loop === null ? 'does not hold in this state' : 'never comes about'}
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

/** TLC does not say which of the properties it is. */
function propertiesIn(config: string): readonly string[] {
  const section = /^(?:PROPERTY|PROPERTIES)\s+((?:\w+\s+)+?)(?=[A-Z_]+\b|$)/m.exec(config)?.[1] ?? '';
  return section.split(/\s+/).filter((name) => name !== '' && !/^[A-Z_]+$/.test(name));
}
