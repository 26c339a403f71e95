/** What may come next, by action: one is chosen. */
import type { Choice } from '../../spec/opened-model.ts';

/** More are not drawn; few models have as many. */
const SHOWN_MAX = 300;

interface ChoiceListProps {
  readonly choices: readonly Choice[];
  readonly onChoose: (number: number) => void;
}

export function ChoiceList({ choices, onChoose }: ChoiceListProps) {
  const titles = [...new Set(choices.map(({ title }) => title))];
  const shown = choices.slice(0, SHOWN_MAX);
  return (
    <div className="spec-choices" data-testid="choices" data-count={choices.length}>
      {choices.length === 0 ? <p className="empty">Nothing more can happen.</p> : null}
      {titles.map((title) => (
        <section key={title} aria-label={title}>
          <h2 className="mono">{title}</h2>
          {shown
            .filter((choice) => choice.title === title)
            .map(({ number, operands, detail, changed }) => (
              <button
                key={number}
                type="button"
                className="spec-choice"
                data-testid={`choice-${number}`}
                title={detail}
                onClick={() => onChoose(number)}
              >
                <span className="mono">{operands === '' ? '()' : operands}</span>
                <small>
                  {changed.length === 0
                    ? 'nothing changes'
                    : changed.filter((name) => name !== 'act').join(', ')}
                </small>
              </button>
            ))}
        </section>
      ))}
      {choices.length > SHOWN_MAX ? (
        <p className="quiet">{`${choices.length - SHOWN_MAX} more are not shown.`}</p>
      ) : null}
    </div>
  );
}
