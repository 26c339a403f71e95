/** A word of the glossary, explained where it stands: on hover, focus, and a tap. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, OverlayArrow, Tooltip, TooltipTrigger } from 'react-aria-components';
import { piecesOf } from '../glossary/glossary.ts';
import { explainedWords, glossary } from '../glossary/words.ts';
import './term.css';

interface TermProps {
  /** As the glossary has it. */
  readonly word: string;
  readonly children: ReactNode;
}

export function Term({ word, children }: TermProps) {
  const [isOpen, setOpen] = useState(false);
  const meaning = glossary.get(word.toLowerCase());
  if (meaning === undefined) return children;
  return (
    <TooltipTrigger
      delay={250}
      closeDelay={100}
      isOpen={isOpen}
      onOpenChange={setOpen}
      shouldCloseOnPress={false}
    >
      <Button className="term" onPress={() => setOpen(true)}>
        {children}
      </Button>
      <Tooltip className="term-meaning" placement="top" offset={8}>
        <OverlayArrow>
          <svg width="10" height="6" viewBox="0 0 10 6" aria-hidden="true">
            <path d="M0 0h10L5 6z" />
          </svg>
        </OverlayArrow>
        <strong>{word}</strong> {meaning}
      </Tooltip>
    </TooltipTrigger>
  );
}

/** A text, in which the first of each word that the page explains is explained. */
export function Terms({ text }: { readonly text: string }) {
  return piecesOf(text, explainedWords).map(({ text: piece, word }) =>
    word === null ? (
      piece
    ) : (
      <Term key={word} word={word}>
        {piece}
      </Term>
    ),
  );
}
