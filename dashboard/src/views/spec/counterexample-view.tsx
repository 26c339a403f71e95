/** One counterexample: what is dropped, the text of the step that is looked at, the state behind it, and the steps to choose from. */
import { useMemo } from 'react';
import { type Counterexample, titleOf } from '../../spec/counterexample.ts';
import { droppedRules } from '../../spec/dropped-rule.ts';
import { counterexampleNamed, modulesOf } from '../../spec/spec-files.ts';
import { type ModelText, modelTextOf, walkOf } from '../../spec/walk.ts';
import { Button } from '../../components/button.tsx';
import { BugWords } from './bug-words.tsx';
import { Outcome } from './outcome.tsx';
import { useLoaded } from './use-loaded.ts';
import { WalkView } from './walk-view.tsx';

interface CounterexampleViewProps {
  readonly name: string;
  readonly step: number;
  readonly onStep: (step: number) => void;
  /** By hand from this step on. */
  readonly onHand: (step: number) => void;
}

interface Loaded {
  readonly counterexample: Counterexample;
  readonly text: ModelText;
}

async function load(name: string): Promise<Loaded> {
  const counterexample = await counterexampleNamed(name);
  if (counterexample === null) throw new Error(`there is no counterexample named ${name}`);
  return { counterexample, text: modelTextOf(await modulesOf(counterexample.module)) };
}

export function CounterexampleView({ name, step, onStep, onHand }: CounterexampleViewProps) {
  const loaded = useLoaded(name, load);
  if (loaded.kind === 'loading') return <p className="empty">The counterexample is loaded…</p>;
  if (loaded.kind === 'failed') return <p className="empty">{`It cannot be loaded: ${loaded.message}`}</p>;
  return <Shown {...loaded.value} step={step} onStep={onStep} onHand={onHand} />;
}

function Shown({
  counterexample,
  text,
  step,
  onStep,
  onHand,
}: Loaded & Pick<CounterexampleViewProps, 'step' | 'onStep' | 'onHand'>) {
  const walk = useMemo(() => walkOf(counterexample, text), [counterexample, text]);
  const rules = droppedRules(counterexample.dropped, text.definitions);
  const at = Math.min(step, walk.length - 1);
  const isLast = at === walk.length - 1;
  return (
    <WalkView
      walk={walk}
      text={text}
      at={at}
      onStep={onStep}
      brokenAt={walk.length - 1}
      loop={counterexample.loop}
      actions={
        <Button
          data-testid="go-by-hand"
          title="Choose what happens from this state on"
          onClick={() => onHand(at)}
        >
          Go on by hand
        </Button>
      }
      head={<BugWords title={titleOf(counterexample.name)} counterexample={counterexample} rules={rules} />}
      outcome={isLast ? <Outcome counterexample={counterexample} text={text} /> : null}
    />
  );
}
