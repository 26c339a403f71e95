/** Lines of TLA+: numbered, their words coloured a little, some of them lit. */
import { memo, useMemo } from 'react';
import { type TextRange, type TextToken, tokensIn } from '../../spec/spec-text.ts';

interface TextLinesProps {
  readonly text: string;
  /** Those that are the step that is looked at. */
  readonly lit?: TextRange | null;
  /** Nothing else is shown. */
  readonly only?: TextRange;
}

export function TextLines({ text, lit = null, only }: TextLinesProps) {
  const lines = useMemo(() => tokensIn(text).map((tokens, index) => ({ number: index + 1, tokens })), [text]);
  return (
    <pre
      className="spec-lines mono"
      // Alone it scrolls by itself.
      {...(only !== undefined && { tabIndex: 0, role: 'region', 'aria-label': 'A part of the text' })}
    >
      {lines.slice((only?.first ?? 1) - 1, only?.last).map(({ number, tokens }) => (
        <Line
          key={number}
          number={number}
          tokens={tokens}
          isLit={lit !== null && number >= lit.first && number <= lit.last}
        />
      ))}
    </pre>
  );
}

interface LineProps {
  readonly number: number;
  readonly tokens: readonly TextToken[];
  readonly isLit: boolean;
}

const Line = memo(function Line({ number, tokens, isLit }: LineProps) {
  return (
    <span className="spec-line" data-line={number} data-lit={isLit}>
      <span className="spec-line-number" aria-hidden="true">
        {number}
      </span>
      <span className="spec-line-text">
        {tokens.map(({ kind, text, at }) =>
          kind === 'plain' ? (
            text
          ) : (
            <span key={at} className={`tla-${kind}`}>
              {text}
            </span>
          ),
        )}
      </span>
    </span>
  );
});
