/** What a bug model drops, in words: the rule, what stands in its place, and what that leads to. */
import type { Counterexample } from '../../spec/counterexample.ts';
import type { DroppedRule } from '../../spec/dropped-rule.ts';

interface BugWordsProps {
  readonly title: string;
  readonly counterexample: Counterexample;
  readonly rules: readonly DroppedRule[];
}

export function BugWords({ title, counterexample, rules }: BugWordsProps) {
  return (
    <header className="spec-bug" data-testid="bug-words">
      <h2>{title}</h2>
      <p>{counterexample.shows}</p>
      {rules.length === 0 ? null : (
        <ul>
          {rules.map(({ rule, by, byWords, ruleWords }) => (
            <li key={rule}>
              <span className="spec-rule">
                <s className="mono">{rule}</s> → <span className="mono">{by}</span>
              </span>{' '}
              <span className="quiet">{byWords === '' ? ruleWords : `Instead: ${byWords}`}</span>
            </li>
          ))}
        </ul>
      )}
    </header>
  );
}
