/** The specification beside what breaks it: a counterexample of a bug model, step by step, with the text of each step and the state behind it. */
import { useCallback, useState } from 'react';
import type { ListedCounterexample } from '../../spec/counterexample.ts';
import { CounterexampleView } from './counterexample-view.tsx';
import { ModelList } from './model-list.tsx';
import { useLoaded } from './use-loaded.ts';
import { listedCounterexamples } from '../../spec/spec-files.ts';
import { readSpecPlace, writeSpecPlace } from '../../spec/spec-address.ts';
import './spec-view.css';

export default function SpecView() {
  const listed = useLoaded('counterexamples', listedCounterexamples);
  const [place, setPlace] = useState(readSpecPlace);
  const go = useCallback((model: string, step: number) => {
    setPlace({ model, step });
    writeSpecPlace({ model, step });
  }, []);
  if (listed.kind === 'loading') return <p className="empty">The counterexamples are loaded…</p>;
  if (listed.kind === 'failed')
    return <p className="empty">{`The counterexamples cannot be loaded: ${listed.message}`}</p>;
  const chosen = listed.value.find(({ name }) => name === place.model) ?? firstOf(listed.value);
  return (
    <div className="spec" data-testid="spec">
      <ModelList listed={listed.value} chosen={chosen.name} onChoose={(name) => go(name, 0)} />
      <CounterexampleView
        key={chosen.name}
        name={chosen.name}
        step={chosen.name === place.model ? place.step : 0}
        onStep={(step) => go(chosen.name, step)}
      />
    </div>
  );
}

/** One that says much in few steps. */
function firstOf(listed: readonly ListedCounterexample[]): ListedCounterexample {
  return listed.find(({ name }) => name === 'BugMultiPaxos-promise-before-fsync') ?? listed[0]!;
}
