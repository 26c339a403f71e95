/** Scenarios at the stage's side: the list, then the question, then the play with what is said of it. */
import { useEffect, useRef } from 'react';
import { Button } from '../../../components/button.tsx';
import { useRun } from '../../../components/run.tsx';
import type { Acts } from '../../../components/use-acts.ts';
import { scenarios } from '../../../scenarios/all-scenarios.ts';
import type { Scenario } from '../../../scenarios/scenario.ts';
import { ScenarioPlay } from './scenario-play.tsx';
import { ScenarioQuestion } from './scenario-question.tsx';
import type { Scenarios } from './use-scenarios.ts';
import './scenarios.css';

interface ScenarioPanelProps {
  readonly scenarios: Scenarios;
  readonly acts: Acts;
  /** Of the world, where it can be held. */
  readonly speed: number;
}

export function ScenarioPanel({
  scenarios: { picked, pick, play, player, toggle },
  acts,
  speed,
}: ScenarioPanelProps) {
  return (
    <aside className="scenarios" aria-label="Scenarios" data-testid="scenarios">
      <header className="scenarios-head">
        {picked === null ? null : (
          <Button
            tone="plain"
            icon="stepBack"
            aria-label={play === null ? 'All scenarios' : 'Leave this scenario'}
            data-testid="scenario-leave"
            onClick={() => pick(null)}
          />
        )}
        <Title key={picked?.id ?? ''} text={picked?.name ?? 'Scenarios'} />
        <Button
          tone="plain"
          icon="close"
          aria-label="Close the scenarios"
          data-testid="scenarios-close"
          onClick={toggle}
        />
      </header>
      {play !== null ? (
        <ScenarioPlay
          play={play}
          player={player}
          acts={acts}
          speed={speed}
          onAgain={() => pick(play.scenario)}
          onOther={() => pick(null)}
        />
      ) : picked !== null ? (
        <ScenarioQuestion
          key={picked.id}
          scenario={picked}
          player={player}
          acts={acts}
          onBegin={(guess) => player.begin(picked, guess, speed)}
        />
      ) : (
        <ScenarioList onPick={pick} />
      )}
    </aside>
  );
}

/** Whoever came by the keyboard goes on from here. */
function Title({ text }: { readonly text: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <h2 ref={title} tabIndex={-1} data-testid="scenario-title">
      {text}
    </h2>
  );
}

function ScenarioList({ onPick }: { readonly onPick: (scenario: Scenario) => void }) {
  const isLive = useRun().source.kind === 'live';
  return (
    <div className="scenarios-body">
      <p className="quiet">
        Each asks you first, then does it, and says what is to be seen and by which rule.
      </p>
      <ul className="scenario-list">
        {scenarios.map((scenario) => (
          <li key={scenario.id}>
            <button
              type="button"
              className="scenario-item"
              data-testid={`scenario-${scenario.id}`}
              onClick={() => onPick(scenario)}
            >
              <strong>{scenario.name}</strong>
              <span>{scenario.promise}</span>
              {isLive && scenario.plays === 'simulated' ? <em>in a simulated group</em> : null}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
