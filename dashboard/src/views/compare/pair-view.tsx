/** Two stages and one time: what is done to one is done to both, and whatever moves one's moment moves the other's. */
import { useSyncExternalStore } from 'react';
import { Button } from '../../components/button.tsx';
import { RunProvider, useMoment, useSelected } from '../../components/run.tsx';
import { ServerAway } from '../../components/server-away.tsx';
import { useActs } from '../../components/use-acts.ts';
import { usePresenting } from '../../components/use-presenter.ts';
import { useKeys } from '../../components/use-keys.ts';
import { beatAt } from '../../compare/beats.ts';
import type { PairedRun } from '../../compare/pair.ts';
import type { Variant } from '../../compare/variants.ts';
import type { Tone } from '../../model/cluster-view.ts';
import type { Act } from '../../run/simulated/acts.ts';
import { wholeRequests } from '../../stage/acts.ts';
import { PresentHead } from '../present/caption-line.tsx';
import { PastNotice } from '../past-notice.tsx';
import { TimeLine } from '../lab/time-line.tsx';
import { Transport } from '../lab/transport.tsx';
import { timeKeys, useTransport } from '../lab/use-transport.ts';
import { CompareSide } from './compare-side.tsx';

interface PairViewProps {
  readonly pair: PairedRun;
  readonly variant: Variant;
  readonly themeKey: string;
  readonly onRestart: () => void;
  readonly showToast: (tone: Tone, text: string) => void;
}

export function PairView({ pair, variant, themeKey, onRestart, showToast }: PairViewProps) {
  const { both, naive, ours } = pair;
  const transport = useTransport(both);
  const acts = useActs(both, false, showToast);
  const isPast = useSelected(both, (view) => view.playhead.mode !== 'following');
  const cluster = useSelected(both, (view) => view.state.cluster);
  const whole = cluster === null ? [] : wholeRequests(cluster);
  const trouble = useSyncExternalStore(pair.onChange, pair.trouble);
  const done = useSyncExternalStore(pair.onChange, pair.acts);
  useKeys(timeKeys(both, transport));
  const presenting = usePresenting();
  const side = { variant, themeKey, acts, speed: transport.speed, done };
  return (
    <ServerAway value={isPast ? 'This is the past: go back to now to change anything' : null}>
      {presenting.isOn ? (
        <RunProvider value={both}>
          <PresentedBeat variant={variant} done={done} />
        </RunProvider>
      ) : null}
      {trouble === null ? null : (
        <p className="compare-trouble" role="alert">
          {trouble}
        </p>
      )}
      <div className="compare-actions">
        <Button
          asksServer
          icon="heal"
          disabled={whole.length === 0}
          data-testid="make-whole"
          title="In both worlds: mend every link, start what is down, let go on what is frozen"
          onClick={() => acts.act('Everything is whole', whole)}
        >
          Make everything whole
        </Button>
        <Button
          icon="restart"
          data-testid="compare-restart"
          title="Both worlds again, from the beginning, as they were planned"
          onClick={onRestart}
        >
          Begin again
        </Button>
      </div>
      <div className="compare-sides">
        <RunProvider value={naive}>
          <CompareSide {...side} isNaive />
        </RunProvider>
        <RunProvider value={ours}>
          <CompareSide {...side} isNaive={false} />
        </RunProvider>
      </div>
      <RunProvider value={both}>
        <section className="lab-time compare-time" aria-label="Time">
          <PastNotice />
          <Transport transport={transport}>
            {presenting.isOn ? null : <Beat variant={variant} done={done} />}
          </Transport>
          {presenting.isOn ? null : (
            <p className="compare-time-of">The time line is that of the group as it is.</p>
          )}
          {cluster === null ? null : <TimeLine transport={transport} cluster={cluster} themeKey={themeKey} />}
        </section>
      </RunProvider>
    </ServerAway>
  );
}

interface BeatProps {
  readonly variant: Variant;
  /** All that was done to both worlds, or is to be. */
  readonly done: readonly Act[];
}

/** The same, for a whole room. */
function PresentedBeat({ variant, done }: BeatProps) {
  const { text } = beatAt(variant, done, useMoment(100));
  return <PresentHead text={`${text}.`} tone="plain" />;
}

/** What was done last, in words. */
function Beat({ variant, done }: BeatProps) {
  const atMs = useMoment(100);
  const beat = beatAt(variant, done, atMs);
  return (
    <p className="compare-beat" aria-live="polite" data-testid="compare-beat">
      <span className="num quiet">{(atMs / 1000).toFixed(1)} s</span> {beat.text}
    </p>
  );
}
