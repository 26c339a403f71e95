/** The lab: the stage, or the space-time diagram in its place, above the time line; all of it on one screen. */
import { useState } from 'react';
import type { ClusterStatus } from '../../../../server/src/api/status.ts';
import { Button } from '../../components/button.tsx';
import { useRun } from '../../components/run.tsx';
import type { Acts } from '../../components/use-acts.ts';
import { useKeys } from '../../components/use-keys.ts';
import { wholeRequests } from '../../stage/acts.ts';
import { payloadOf, protocolOf } from '../../model/protocol-view.ts';
import { PastNotice } from '../past-notice.tsx';
import { Conscience } from './conscience.tsx';
import { MessageLegend } from './message-legend.tsx';
import { MessagePopover, type Picked } from './message-popover.tsx';
import { ScenarioPanel } from './scenarios/scenario-panel.tsx';
import { useScenarios } from './scenarios/use-scenarios.ts';
import { SpaceTimeView } from './space-time-view.tsx';
import { Stage } from './stage.tsx';
import { TimeLine } from './time-line.tsx';
import { Transport } from './transport.tsx';
import { timeKeys, useTransport } from './use-transport.ts';
import './lab-view.css';

interface LabViewProps {
  readonly cluster: ClusterStatus;
  readonly leader: string | null;
  readonly themeKey: string;
  readonly acts: Acts;
  readonly onTrouble: (message: string) => void;
  /** The run is to be held to the specification. */
  readonly onCheck: () => void;
}

export type Scenery = 'stage' | 'space-time';

export function LabView({ cluster, leader, themeKey, acts, onTrouble, onCheck }: LabViewProps) {
  const store = useRun();
  const transport = useTransport(store);
  const [scenery, setScenery] = useState<Scenery>('stage');
  const [picked, setPicked] = useState<Picked | null>(null);
  const scenarios = useScenarios();
  const whole = wholeRequests(cluster);
  useKeys({
    ...timeKeys(store, transport),
    s: scenarios.toggle,
    d: () => setScenery((now) => (now === 'stage' ? 'space-time' : 'stage')),
  });
  const spoken = { protocol: protocolOf(cluster), payload: payloadOf(cluster) };
  return (
    <div className="lab" data-testid="lab" data-scenery={scenery}>
      <div className="lab-middle">
        <section className="lab-scene" aria-label={scenery === 'stage' ? 'Stage' : 'Space-time diagram'}>
          {scenery === 'stage' ? (
            <Stage
              cluster={cluster}
              leader={leader}
              themeKey={themeKey}
              acts={acts}
              speed={transport.speed}
              onMessage={setPicked}
            />
          ) : (
            <SpaceTimeView cluster={cluster} themeKey={themeKey} onMessage={setPicked} />
          )}
          {scenery === 'stage' ? <MessageLegend themeKey={themeKey} spoken={spoken} /> : null}
          <PastNotice />
          <div className="lab-actions">
            <Button
              icon="compare"
              data-testid="check-this-run"
              title="Hold what the page has of this run to the TLA+ specification"
              onClick={onCheck}
            >
              Check this run
            </Button>
            <Button
              icon="scenario"
              aria-pressed={scenarios.isOpen}
              data-testid="scenarios-open"
              title="Scenarios that ask, play and explain themselves (s)"
              onClick={scenarios.toggle}
            >
              Scenarios
            </Button>
            <Button
              asksServer
              icon="history"
              disabled={acts.undoable === null}
              data-testid="undo"
              title={
                acts.undoable === null
                  ? 'Nothing that could be undone; a lost disk heals by itself'
                  : `Undo: ${acts.undoable}`
              }
              onClick={acts.undo}
            >
              <span className="words-wide">Undo</span>
            </Button>
            <Button
              asksServer
              icon="heal"
              disabled={whole.length === 0}
              data-testid="make-whole"
              title="Mend every link, start what is down, let go on what is frozen"
              onClick={() => acts.act('Everything is whole', whole)}
            >
              <span className="words-wide">Make everything whole</span>
            </Button>
          </div>
          {picked === null ? null : <MessagePopover picked={picked} onClose={() => setPicked(null)} />}
        </section>
        {scenarios.isOpen ? (
          <ScenarioPanel scenarios={scenarios} acts={acts} speed={transport.speed} />
        ) : null}
      </div>
      <section className="lab-time" aria-label="Time">
        <Transport transport={transport} picture={{ scenery, onScenery: setScenery }}>
          <Conscience onTrouble={onTrouble} />
        </Transport>
        <TimeLine transport={transport} cluster={cluster} themeKey={themeKey} />
      </section>
    </div>
  );
}
