/** What is broken at the end of a counterexample: the invariant or property by its name, and its text. */
import type { Counterexample } from '../../spec/counterexample.ts';
import type { ModelText } from '../../spec/walk.ts';
import { TextLines } from './text-lines.tsx';

interface OutcomeProps {
  readonly counterexample: Counterexample;
  readonly text: ModelText;
}

export function Outcome({ counterexample: { violated, config, loop }, text }: OutcomeProps) {
  const names = violated === 'Temporal' ? propertiesIn(config) : [violated];
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
            : `From here it goes back to state ${loop.state}, and so on for ever.`}
        </p>
      )}
      {names.map((name) => {
        const definition = text.definitions.get(name);
        if (definition === undefined) return null;
        return (
          <div key={name}>
            {definition.comment === '' ? null : <p className="quiet">{definition.comment}</p>}
            <TextLines
              text={text.texts.get(definition.module)!}
              only={{ first: definition.first, last: definition.last }}
            />
          </div>
        );
      })}
    </section>
  );
}

/** TLC does not say which of the properties it is. */
function propertiesIn(config: string): readonly string[] {
  const section = /^(?:PROPERTY|PROPERTIES)\s+((?:\w+\s+)+?)(?=[A-Z_]+\b|$)/m.exec(config)?.[1] ?? '';
  return section.split(/\s+/).filter((name) => name !== '' && !/^[A-Z_]+$/.test(name));
}
