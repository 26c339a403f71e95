/** A rule as the specification has it: its name, its line, and the text of it. */
import { useEffect, useState } from 'react';
import { findRule, type FoundRule, type Rule, type SpecTexts } from '../../../scenarios/rules.ts';

let loaded: SpecTexts | null = null;

/** Null: they are on their way. */
function useSpecTexts(): SpecTexts | null {
  const [texts, setTexts] = useState(loaded);
  useEffect(() => {
    if (texts !== null) return undefined;
    let isHere = true;
    void import('../../../scenarios/spec-texts.ts').then(({ specTexts }) => {
      loaded = specTexts;
      if (isHere) setTexts(specTexts);
    });
    return () => {
      isHere = false;
    };
  }, [texts]);
  return texts;
}

export function RuleText({ rule }: { readonly rule: Rule }) {
  const texts = useSpecTexts();
  const found = texts === null ? null : findRule(texts, rule);
  return (
    <figure className="scenario-rule" data-testid="scenario-rule" data-rule={`${rule.module} ${rule.name}`}>
      <figcaption>
        The rule: <strong className="mono">{rule.name}</strong>
        {found === null ? null : (
          <span className="mono quiet">
            {found.file}:{found.line}
          </span>
        )}
      </figcaption>
      {found === null ? null : (
        <pre>
          {numbered(found).map(({ number, line }) => (
            // What is too long goes on further in than it began.
            <span key={number} style={{ paddingLeft: `${indentOf(line) + 2}ch` }}>
              {line.trimStart()}
              {'\n'}
            </span>
          ))}
          {found.isCut ? '  …' : ''}
        </pre>
      )}
    </figure>
  );
}

function numbered({ text, line: first }: FoundRule): readonly { number: number; line: string }[] {
  return text.split('\n').map((line, index) => ({ number: first + index, line }));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
