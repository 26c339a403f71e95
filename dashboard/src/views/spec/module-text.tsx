/** The module that the step is in, scrolled to it; the others that the model rests on can be looked at, too. */
import { useEffect, useRef, useState } from 'react';
import type { ModelText, PlacedRange } from '../../spec/walk.ts';
import { TextLines } from './text-lines.tsx';

interface ModuleTextProps {
  readonly text: ModelText;
  readonly place: PlacedRange | null;
}

export function ModuleText({ text, place }: ModuleTextProps) {
  const names = [...text.texts.keys()];
  const [chosen, setChosen] = useState<{ readonly at: PlacedRange | null; readonly module: string } | null>(
    null,
  );
  // What was looked up meanwhile is left when the step is another one.
  const module = (chosen !== null && chosen.at === place ? chosen.module : place?.module) ?? names[0]!;
  const lit = place !== null && place.module === module ? place : null;
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = scroller.current;
    const line = lit === null ? null : box?.querySelector<HTMLElement>(`[data-line="${lit.first}"]`);
    if (box == null || line == null || lit === null) return;
    const lines = lit.last - lit.first + 1;
    const height = lines * line.offsetHeight;
    const above = Math.max(line.offsetHeight * 2, (box.clientHeight - height) / 2);
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    box.scrollTo({ top: line.offsetTop - above, behavior: isCalm ? 'auto' : 'smooth' });
  }, [lit]);
  return (
    <>
      <nav className="spec-modules" aria-label="Modules">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            className="mono"
            aria-pressed={name === module}
            onClick={() => setChosen({ at: place, module: name })}
          >
            {name}
          </button>
        ))}
      </nav>
      <div
        ref={scroller}
        className="spec-module"
        tabIndex={0}
        role="region"
        aria-label={`Module ${module}`}
        data-testid="spec-module"
        data-module={module}
        data-first={lit?.first}
        data-last={lit?.last}
      >
        <TextLines key={module} text={text.texts.get(module) ?? ''} lit={lit} />
      </div>
    </>
  );
}
