/** A behaviour walked through: the text of the step that is looked at, the state behind it, and all steps in a strip. */
import { type ReactNode, useEffect, useState } from 'react';
import { useKeys } from '../../components/use-keys.ts';
import type { CounterexampleLoop } from '../../spec/counterexample.ts';
import type { ModelText, WalkStep } from '../../spec/walk.ts';
import { ModuleText } from './module-text.tsx';
import { StatePanel } from './state-panel.tsx';
import { StepStrip } from './step-strip.tsx';

interface WalkViewProps {
  readonly walk: readonly WalkStep[];
  readonly text: ModelText;
  /** The step that is looked at, from 0. */
  readonly at: number;
  readonly onStep: (at: number) => void;
  /** The step that is wrong; null: none is. */
  readonly brokenAt: number | null;
  readonly loop?: CounterexampleLoop | null;
  /** Above the text. */
  readonly head: ReactNode;
  /** Above the state. */
  readonly outcome: ReactNode;
  /** What can be done at this step. */
  readonly actions?: ReactNode;
}

const PLAY_MS = 1_200;

export function WalkView({
  walk,
  text,
  at,
  onStep,
  brokenAt,
  loop = null,
  head,
  outcome,
  actions,
}: WalkViewProps) {
  const [isPlaying, setPlaying] = useState(false);
  const last = walk.length - 1;
  const stand = (to: number): void => {
    setPlaying(false);
    onStep(Math.min(Math.max(to, 0), last));
  };
  const toggle = (): void => {
    if (!isPlaying && at === last) onStep(0);
    setPlaying(!isPlaying && last > 0);
  };
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setTimeout(() => {
      onStep(at + 1);
      if (at + 1 === last) setPlaying(false);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last, onStep]);
  useKeys({
    ArrowLeft: () => stand(at - 1),
    ArrowRight: () => stand(at + 1),
    Home: () => stand(0),
    End: () => stand(last),
    ' ': toggle,
  });
  const step = walk[at]!;
  return (
    <div className="spec-walk">
      <section className="spec-text" aria-label="The specification">
        {head}
        <ModuleText text={text} place={step.place} />
      </section>
      <section
        className="spec-state"
        aria-label="The state behind the step"
        tabIndex={0}
        role="region"
        data-testid="spec-state"
      >
        {outcome}
        <StatePanel step={step} before={walk[at - 1] ?? null} />
      </section>
      <StepStrip
        walk={walk}
        at={at}
        brokenAt={brokenAt}
        loop={loop}
        isPlaying={isPlaying}
        onStep={stand}
        onToggle={toggle}
        actions={actions}
      />
    </div>
  );
}
