/** The steps of a behaviour in a strip: where it is, where it goes, and where it ends badly. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { Button } from '../../components/button.tsx';
import type { CounterexampleLoop } from '../../spec/counterexample.ts';
import type { WalkStep } from '../../spec/walk.ts';

interface StepStripProps {
  readonly walk: readonly WalkStep[];
  readonly at: number;
  readonly brokenAt: number | null;
  readonly loop: CounterexampleLoop | null;
  readonly isPlaying: boolean;
  readonly onStep: (at: number) => void;
  readonly onToggle: () => void;
  readonly actions?: ReactNode;
}

export function StepStrip({
  walk,
  at,
  brokenAt,
  loop,
  isPlaying,
  onStep,
  onToggle,
  actions,
}: StepStripProps) {
  const list = useRef<HTMLOListElement>(null);
  const last = walk.length - 1;
  const onKeyDown = (event: KeyboardEvent): void => {
    // The strip's buttons have no use for these themselves.
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onStep(at + by);
  };
  useEffect(() => {
    const current = list.current?.children[at] as HTMLElement | undefined;
    const box = list.current;
    if (current === undefined || box === null) return;
    box.scrollTo({ left: current.offsetLeft - (box.clientWidth - current.offsetWidth) / 2 });
  }, [at]);
  return (
    <section
      className="spec-steps"
      aria-label="Steps"
      data-testid="spec-steps"
      data-at={at}
      data-last={last}
      onKeyDown={onKeyDown}
    >
      <div className="spec-steps-buttons">
        <Button
          icon="stepBack"
          aria-label="Step back"
          data-testid="spec-back"
          disabled={at === 0}
          onClick={() => onStep(at - 1)}
        />
        <Button
          icon={isPlaying ? 'pause' : 'play'}
          tone="primary"
          aria-label={isPlaying ? 'Pause' : 'Play'}
          data-testid="spec-play"
          onClick={onToggle}
        />
        <Button
          icon="stepForward"
          aria-label="Step forward"
          data-testid="spec-forward"
          disabled={at === last}
          onClick={() => onStep(at + 1)}
        />
        <span className="num quiet" aria-live="polite">
          {at === 0 ? `start, ${last} steps` : `step ${at} of ${last}`}
        </span>
        {actions}
      </div>
      <ol ref={list}>
        {walk.map((step) => (
          <li key={step.number}>
            <button
              type="button"
              className="spec-step"
              aria-current={step.number === at ? 'step' : undefined}
              data-behind={step.number < at}
              data-broken={step.number === brokenAt}
              title={`${step.title}${step.operands}`}
              onClick={() => onStep(step.number)}
            >
              <small className="num">{step.number}</small>
              <span className="mono">{step.title}</span>
              {step.operands === '' ? null : <span className="mono spec-operands">{step.operands}</span>}
            </button>
          </li>
        ))}
        {loop === null ? null : (
          <li className="spec-loop">
            {loop.kind === 'stutters' ? 'and nothing more' : `and again from ${loop.state - 1}`}
          </li>
        )}
      </ol>
    </section>
  );
}
