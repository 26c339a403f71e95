/** A model by hand: any enabled action is chosen, and the state behind it is shown, with which invariants hold there. From a first state, or from a step of a counterexample on. */
import { type ReactNode, useMemo } from 'react';
import { Button } from '../../components/button.tsx';
import { familyOf, statesOf, titleOf } from '../../spec/counterexample.ts';
import { choicesOf, falseClaim, handWalk, open, valuesOf } from '../../spec/opened-model.ts';
import type { SpecPlace } from '../../spec/spec-address.ts';
import { closest, unknown } from '../../model/address-problem.ts';
import {
  counterexampleNamed,
  handModels,
  listedCounterexamples,
  modelConfig,
  modulesOf,
} from '../../spec/spec-files.ts';
import { type ModelText, modelTextOf } from '../../spec/walk.ts';
import { Broken } from './broken.tsx';
import { ChoiceList } from './choice-list.tsx';
import { useLoaded } from './use-loaded.ts';
import { WalkView } from './walk-view.tsx';

interface HandViewProps {
  readonly modes: ReactNode;
  readonly place: SpecPlace;
  readonly onPlace: (place: SpecPlace) => void;
}

interface Loaded {
  readonly title: string;
  readonly module: string;
  readonly config: string;
  readonly text: ModelText;
  /** Of a counterexample its states: one of them is where it begins. Null: the model's own first states. */
  readonly states: ReturnType<typeof statesOf> | null;
}

async function load(name: string): Promise<Loaded> {
  const counterexample = name.startsWith('Bug') ? await counterexampleNamed(name) : null;
  if (counterexample === null && !handModels.some((model) => model.name === name))
    throw new Error(await nothingNamed(name));
  const module = counterexample?.module ?? familyOf(name);
  const text = modelTextOf(await modulesOf(module));
  const config = counterexample?.config ?? (await modelConfig(name));
  return {
    title: counterexample === null ? name : titleOf(name),
    module,
    config,
    text,
    states: counterexample === null ? null : statesOf(counterexample),
  };
}

async function nothingNamed(name: string): Promise<string> {
  if (!name.startsWith('Bug'))
    return unknown(
      'model to walk through',
      name,
      handModels.map((model) => model.name),
    );
  const listed = await listedCounterexamples();
  const names = listed.map((one) => one.name);
  return unknown('counterexample', name, closest(name, names, 8));
}

export function HandView({ modes, place, onPlace }: HandViewProps) {
  const name = place.model ?? handModels[0].name;
  const loaded = useLoaded(name, load);
  const models = (
    <label className="spec-hand-model">
      <span className="quiet">Model</span>
      <select
        value={name}
        data-testid="hand-model"
        onChange={(event) => onPlace({ mode: 'hand', model: event.target.value, step: 0, walk: [] })}
      >
        {handModels.some((model) => model.name === name) ? null : <option value={name}>{name}</option>}
        {handModels.map((model) => (
          <option key={model.name} value={model.name}>
            {model.title}
          </option>
        ))}
      </select>
    </label>
  );
  if (loaded.kind !== 'there')
    return (
      <div className="spec" data-testid="spec-hand">
        <section className="spec-models">
          {modes}
          {models}
        </section>
        {loaded.kind === 'failed' ? (
          <p className="empty" role="alert" data-testid="unknown-model">
            {loaded.message}
          </p>
        ) : (
          <p className="empty">The model is loaded…</p>
        )}
      </div>
    );
  return (
    <Opened
      key={name}
      loaded={loaded.value}
      top={
        <>
          {modes}
          {models}
        </>
      }
      place={{ ...place, model: name }}
      onPlace={onPlace}
    />
  );
}

interface OpenedProps {
  readonly loaded: Loaded;
  readonly top: ReactNode;
  readonly place: SpecPlace;
  readonly onPlace: (place: SpecPlace) => void;
}

function Opened({ loaded, top, place, onPlace }: OpenedProps) {
  const { text, module, config, states, title } = loaded;
  const opened = useMemo(() => open(text, module, config), [text, module, config]);
  const shown = useMemo(() => {
    if (!opened.ok) return opened.why;
    try {
      return walked(opened.model, loaded, place.step, place.walk);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }, [opened, loaded, place.step, place.walk]);
  if (!opened.ok || typeof shown === 'string')
    return (
      <div className="spec" data-testid="spec-hand">
        <section className="spec-models">{top}</section>
        <p className="empty" data-testid="not-evaluated">
          The page’s own evaluator does not read all of this model, as TLC does:{' '}
          {typeof shown === 'string' ? shown : ''}.
        </p>
      </div>
    );
  const { model } = opened;
  const { walk, next, choices, broken, here } = shown;
  const last = walk.length - 1;
  const go = (walkTo: readonly number[]): void => onPlace({ ...place, mode: 'hand', walk: walkTo });
  return (
    <div className="spec" data-testid="spec-hand">
      <section className="spec-models" aria-label="What may come next">
        {top}
        <div className="spec-hand-buttons">
          <Button
            data-testid="hand-undo"
            icon="history"
            disabled={last === 0}
            onClick={() => go(choices.slice(0, -1))}
          >
            Undo
          </Button>
          <Button data-testid="hand-reset" icon="restart" disabled={last === 0} onClick={() => go([])}>
            From the start
          </Button>
        </div>
        <ChoiceList choices={next} onChoose={(number) => go([...choices, number])} />
      </section>
      <WalkView
        walk={walk}
        text={text}
        at={last}
        onStep={(to) => go(choices.slice(0, to))}
        brokenAt={broken.length > 0 ? last : null}
        head={
          <header className="spec-bug">
            <h2>{title}</h2>
            <p>
              {states === null ? 'From its first state' : `From step ${place.step} of the counterexample on`},
              by hand.{' '}
              {model.invariants.length === 0
                ? 'The model names no invariant.'
                : broken.length === 0
                  ? `${model.invariants.length === 1 ? 'Its invariant holds' : `All ${model.invariants.length} invariants hold`} here.`
                  : ''}
            </p>
          </header>
        }
        outcome={
          broken.length === 0 ? null : (
            <section className="spec-outcome" data-testid="hand-broken">
              <h3>
                <span className="dot" data-tone="bad" aria-hidden="true" />
                {broken.join(', ')} {broken.length === 1 ? 'does' : 'do'} not hold in this state
              </h3>
              {broken.map((name) => (
                <Broken key={name} name={name} text={text} claim={falseClaim(model, text, name, here)} />
              ))}
            </section>
          )
        }
      />
    </div>
  );
}

type Model = Extract<ReturnType<typeof open>, { ok: true }>['model'];

/** @throws TlaError if something cannot be evaluated */
function walked(model: Model, { states, text }: Loaded, step: number, wanted: readonly number[]) {
  const start =
    states === null
      ? (model.firstStates()[step] ?? model.firstStates()[0]!)
      : valuesOf(model, states[Math.min(step, states.length - 1)]!);
  const title = states === null ? 'Init' : `Step ${step}`;
  const { walk, states: behind, choices } = handWalk(model, text, { start, title, choices: wanted });
  const here = behind.at(-1)!;
  return {
    walk,
    choices,
    here,
    next: choicesOf(model, here, model.nextStates(here)),
    broken: model.broken(here),
  };
}
