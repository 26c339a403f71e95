/** The panel of scenarios: whether it is open, which one is looked at, and what of it is in the page's address. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { scenarioInAddress, writeScenario } from '../../../components/scenario-address.ts';
import { scenarioNamed } from '../../../scenarios/all-scenarios.ts';
import type { Play } from '../../../scenarios/play.ts';
import type { Scenario } from '../../../scenarios/scenario.ts';
import { playerOf, type ScenarioPlayer } from '../../../scenarios/scenario-player.ts';
import { useRun } from '../../../components/run.tsx';

export interface Scenarios {
  readonly isOpen: boolean;
  readonly toggle: () => void;
  /** Null: the list is shown. */
  readonly picked: Scenario | null;
  readonly pick: (scenario: Scenario | null) => void;
  readonly player: ScenarioPlayer;
  readonly play: Play | null;
}

export function usePlay(): Play | null {
  const player = playerOf(useRun());
  return useSyncExternalStore(player.subscribe, player.play);
}

export function useScenarios(): Scenarios {
  const player = playerOf(useRun());
  const play = usePlay();
  const [asked, setAsked] = useState(() => scenarioNamed(scenarioInAddress()));
  const [isOpen, setOpen] = useState(asked !== null || play !== null);
  const picked = play?.scenario ?? asked;
  // What is being played is in the run's acts.
  const addressed = isOpen && play === null ? (asked?.id ?? null) : null;
  useEffect(() => writeScenario(addressed), [addressed]);
  useEffect(() => {
    const follow = (): void => {
      const named = scenarioNamed(scenarioInAddress());
      if (named === null) return;
      setAsked(named);
      setOpen(true);
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return {
    isOpen,
    toggle: () => setOpen((now) => !now),
    picked,
    pick(scenario) {
      player.leave();
      setAsked(scenario);
    },
    player,
    play,
  };
}
