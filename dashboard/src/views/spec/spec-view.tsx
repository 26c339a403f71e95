/** The specification beside what breaks it: counterexamples of bug models, and the run of the page up to where it is refused, step by step with the text of each step. */
import { Segmented } from '../../components/segmented.tsx';
import type { ListedCounterexample } from '../../spec/counterexample.ts';
import { closest, unknown } from '../../model/address-problem.ts';
import { listedCounterexamples } from '../../spec/spec-files.ts';
import { CounterexampleView } from './counterexample-view.tsx';
import { HandView } from './hand-view.tsx';
import { ModelList } from './model-list.tsx';
import { RunCheckView } from './run-check-view.tsx';
import { useLoaded } from './use-loaded.ts';
import { usePlace } from './use-place.ts';
import './spec-view.css';

const choices = [
  { value: 'bugs', label: 'Bugs', testId: 'mode-bugs' },
  { value: 'run', label: 'This run', testId: 'mode-run' },
  { value: 'hand', label: 'By hand', testId: 'mode-hand' },
] as const;

interface SpecViewProps {
  readonly onLab: () => void;
}

export default function SpecView({ onLab }: SpecViewProps) {
  const listed = useLoaded('counterexamples', listedCounterexamples);
  const [place, go] = usePlace();
  const modes = (
    <div className="spec-modes">
      <Segmented
        label="What is shown"
        choices={choices}
        value={place.mode}
        onChange={(mode) => go({ mode, model: null, step: 0, walk: [] })}
      />
    </div>
  );
  if (place.mode === 'run') return <RunCheckView modes={modes} onLab={onLab} />;
  if (place.mode === 'hand') return <HandView modes={modes} place={place} onPlace={go} />;
  if (listed.kind === 'loading') return <p className="empty">The counterexamples are loaded…</p>;
  if (listed.kind === 'failed')
    return <p className="empty">{`The counterexamples cannot be loaded: ${listed.message}`}</p>;
  const asked = listed.value.find(({ name }) => name === place.model) ?? null;
  const chosen = asked ?? firstOf(listed.value);
  const step = chosen.name === place.model ? place.step : 0;
  const stand = (name: string, at: number): void => go({ mode: 'bugs', model: name, step: at, walk: [] });
  return (
    <div className="spec" data-testid="spec">
      <ModelList
        modes={
          <>
            {modes}
            {place.model === null || asked !== null ? null : (
              <p className="spec-problem spec-unknown" role="alert" data-testid="unknown-model">
                {unknown('counterexample', place.model, closest(place.model, namesOf(listed.value), 4))}{' '}
                Another one is shown.
              </p>
            )}
          </>
        }
        listed={listed.value}
        chosen={chosen.name}
        onChoose={(name) => stand(name, 0)}
      />
      <CounterexampleView
        key={chosen.name}
        name={chosen.name}
        step={step}
        onStep={(at) => stand(chosen.name, at)}
        onHand={(at) => go({ mode: 'hand', model: chosen.name, step: at, walk: [] })}
      />
    </div>
  );
}

function namesOf(listed: readonly ListedCounterexample[]): readonly string[] {
  return listed.map(({ name }) => name);
}

/** One that says much in few steps. */
function firstOf(listed: readonly ListedCounterexample[]): ListedCounterexample {
  return listed.find(({ name }) => name === 'BugMultiPaxos-promise-before-fsync') ?? listed[0]!;
}
