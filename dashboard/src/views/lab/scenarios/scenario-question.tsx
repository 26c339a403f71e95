/** What is asked before anything is done; or why the scenario cannot be played on this run, with what would help. */
import { useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { useRun, useSelected } from '../../../components/run.tsx';
import { writeScenario } from '../../../components/scenario-address.ts';
import type { Acts } from '../../../components/use-acts.ts';
import { type Refusal, refusalOf } from '../../../scenarios/may-play.ts';
import type { Question, Scenario } from '../../../scenarios/scenario.ts';
import type { ScenarioPlayer } from '../../../scenarios/scenario-player.ts';
import { wholeRequests } from '../../../stage/acts.ts';
import { freshRun, useRunChoice } from '../../source-menu.tsx';

interface ScenarioQuestionProps {
  readonly scenario: Scenario;
  readonly player: ScenarioPlayer;
  readonly acts: Acts;
  readonly onBegin: (guess: string) => void;
}

type Asked =
  | { readonly refusal: Refusal; readonly question: null }
  | { readonly refusal: null; readonly question: Question };

export function ScenarioQuestion({ scenario, player, acts, onBegin }: ScenarioQuestionProps) {
  const store = useRun();
  const [guess, setGuess] = useState<string | null>(null);
  // As a text: it is drawn anew when it says something else.
  const asked = useSelected(store, () => JSON.stringify(askedOf(scenario, player)));
  const { refusal, question } = JSON.parse(asked) as Asked;
  return (
    <>
      <div className="scenarios-body">
        <p className="scenario-promise">{scenario.promise}</p>
        {refusal !== null ? (
          <Refused scenario={scenario} refusal={refusal} acts={acts} />
        ) : (
          <fieldset className="scenario-question" data-testid="scenario-question">
            <legend>{question.text}</legend>
            {question.choices.map(({ id, text }) => (
              <label key={id} data-testid={`choice-${id}`}>
                <input
                  type="radio"
                  name="guess"
                  value={id}
                  checked={guess === id}
                  onChange={() => setGuess(id)}
                />
                <span>{text}</span>
              </label>
            ))}
          </fieldset>
        )}
      </div>
      <footer className="scenarios-foot">
        <Button
          tone="primary"
          icon="play"
          asksServer
          disabled={guess === null || refusal !== null}
          title={guess === null ? 'Say first what you expect' : 'Does it, and shows what comes of it'}
          data-testid="scenario-begin"
          onClick={() => (guess === null ? undefined : onBegin(guess))}
        >
          Find out
        </Button>
      </footer>
    </>
  );
}

function askedOf(scenario: Scenario, player: ScenarioPlayer): Asked {
  const ground = player.ground();
  const refusal = refusalOf(scenario, ground);
  return refusal !== null || ground.seen === null
    ? { refusal: refusal ?? { why: 'Nothing is known of the group yet.', offer: null }, question: null }
    : { refusal: null, question: scenario.question(ground.seen) };
}

function Refused({
  scenario,
  refusal: { why, offer },
  acts,
}: {
  readonly scenario: Scenario;
  readonly refusal: Refusal;
  readonly acts: Acts;
}) {
  const store = useRun();
  const choice = useRunChoice();
  const simulate = (): void => {
    writeScenario(scenario.id);
    choice?.chooseSimulated(freshRun());
  };
  const makeWhole = (): void => {
    const { cluster } = store.get().state;
    if (cluster !== null) acts.act('Everything is whole', wholeRequests(cluster));
  };
  return (
    <div className="scenario-refused" role="status" data-testid="scenario-refused">
      <p>{why}</p>
      {offer === 'simulate' && choice !== null ? (
        <Button tone="primary" data-testid="scenario-simulate" onClick={simulate}>
          Play it in a simulated group
        </Button>
      ) : null}
      {offer === 'whole' ? (
        <Button icon="heal" asksServer data-testid="scenario-whole" onClick={makeWhole}>
          Make everything whole
        </Button>
      ) : null}
      {offer === 'now' ? (
        <Button icon="follow" onClick={store.follow}>
          Back to now
        </Button>
      ) : null}
    </div>
  );
}
