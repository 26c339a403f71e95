/** The load and its conscience: what clients were told, whether all of it is there at every replica, and how much they ask for. */
import { useCallback, useState } from 'react';
import {
  Button,
  DialogTrigger,
  Label,
  Popover,
  Slider,
  SliderOutput,
  SliderThumb,
  SliderTrack,
  Switch,
} from 'react-aria-components';
import type { LoadAtReplica, LoadSettings, LoadStatus } from '../../../../server/src/api/load.ts';
import { formatAge, formatCount, formatRate } from '../../model/format.ts';
import { useRequests, useRun, useSelected } from '../../components/run.tsx';
import { conscienceOf, spellFinding } from '../../model/conscience-figures.ts';
import { acknowledgedPerSecond } from '../../model/load-series.ts';
import './conscience.css';

interface ConscienceProps {
  /** Somebody is to hear that it could not be done. */
  readonly onTrouble: (message: string) => void;
}

export function Conscience({ onTrouble }: ConscienceProps) {
  const load = useSelected(useRun(), ({ state }) => state.load);
  if (load.status === null) return null;
  const { counts, settings, stale, findings = [] } = load.status;
  const perSecond = acknowledgedPerSecond(load);
  const { figures, tone } = conscienceOf(load.status);
  return (
    <DialogTrigger>
      <Button className="conscience" data-testid="conscience" data-tone={tone}>
        {figures.map((figure) => (
          <span
            key={figure.id}
            className="conscience-figure"
            data-testid={figure.id}
            data-tone={figure.tone ?? undefined}
          >
            <b className="num">{formatCount(figure.value)}</b> {figure.name}
          </span>
        ))}
        <span className="conscience-rate quiet num">
          {settings.isRunning ? (perSecond === null ? '–' : `${formatRate(perSecond)}/s`) : 'at rest'}
        </span>
      </Button>
      {/* It is the dialog itself: what lets screen readers leave it would stand outside of one that is within. */}
      <Popover placement="top" offset={8} className="lab-popover" aria-label="Clients of the demo">
        <div className="lab-dialog" data-testid="load">
          <h2>Clients of the demo</h2>
          <p className="conscience-words">
            They write rows, read them again, and connect to another replica when theirs is gone. Every few
            seconds each replica is asked for all that was acknowledged before.
            {stale === undefined
              ? ''
              : ' A read is stale when it does not show what had been acknowledged, or shown to somebody, before it began.'}
          </p>
          <LoadSettingsForm status={load.status} onTrouble={onTrouble} />
          <ul className="conscience-replicas">
            {load.status.replicas.map((replica) => (
              <AtReplica key={replica.id} replica={replica} />
            ))}
          </ul>
          {findings.length === 0 ? null : (
            <ul className="conscience-findings" data-testid="findings">
              {findings.map((finding) => (
                <li key={finding.kind}>{spellFinding(finding)}</li>
              ))}
            </ul>
          )}
          <p className="quiet num">
            {formatCount(counts.refused)} writes refused · {formatCount(counts.reads)} reads ·{' '}
            {formatCount(counts.readsRefused)} reads refused
          </p>
        </div>
      </Popover>
    </DialogTrigger>
  );
}

function AtReplica({ replica: { id, checkedAgoMs, missing, problem } }: { readonly replica: LoadAtReplica }) {
  const tone = missing > 0 ? 'bad' : problem !== null || checkedAgoMs === null ? 'idle' : 'good';
  return (
    <li>
      <span className="dot" data-tone={tone} aria-hidden="true" />
      <span className="mono">{id}</span>
      <span>
        {missing > 0 ? `lacks ${formatCount(missing)}` : checkedAgoMs === null ? 'not asked yet' : 'has all'}
      </span>
      <span className="quiet num" title={problem ?? undefined}>
        {checkedAgoMs === null ? '' : `${formatAge(checkedAgoMs)} ago`}
        {problem === null ? '' : ' · does not answer now'}
      </span>
    </li>
  );
}

function LoadSettingsForm({
  status: { settings },
  onTrouble,
}: ConscienceProps & { readonly status: LoadStatus }) {
  const requests = useRequests();
  const set = useCallback(
    (change: Partial<LoadSettings>) => {
      void requests?.load?.({ ...settings, ...change }).then((outcome) => {
        if (!outcome.ok) onTrouble(outcome.error.message);
      });
    },
    [requests, settings, onTrouble],
  );
  const isAsked = requests?.load !== undefined;
  return (
    <div className="conscience-settings">
      <Switch
        className="conscience-switch"
        isSelected={settings.isRunning}
        isDisabled={!isAsked}
        onChange={(isRunning) => set({ isRunning })}
      >
        <span className="conscience-knob" aria-hidden="true" />
        Clients work
      </Switch>
      <Slide
        label="Requests a second"
        values={rates}
        value={settings.perSecond}
        isDisabled={!isAsked}
        text={(value) => formatCount(value)}
        onChange={(perSecond) => set({ perSecond, clients: clientsFor(perSecond) })}
      />
      <Slide
        label="Of these reads"
        values={shares}
        value={settings.readShare}
        isDisabled={!isAsked}
        text={(value) => `${Math.round(100 * value)} %`}
        onChange={(readShare) => set({ readShare })}
      />
    </div>
  );
}

const rates = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000] as const;
const shares = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] as const;

/** Enough that one which waits does not hold all up. */
function clientsFor(perSecond: number): number {
  return Math.min(32, Math.max(4, Math.ceil(perSecond / 20)));
}

interface SlideProps {
  readonly label: string;
  readonly values: readonly number[];
  readonly value: number;
  readonly isDisabled: boolean;
  readonly text: (value: number) => string;
  readonly onChange: (value: number) => void;
}

/** In steps of `values`. */
function Slide({ label, values, value, isDisabled, text, onChange }: SlideProps) {
  const at = values.reduce(
    (nearest, one, index) => (Math.abs(one - value) < Math.abs(values[nearest]! - value) ? index : nearest),
    0,
  );
  // While it is dragged, and until what was asked for is so.
  const [draft, setDraft] = useState<number | null>(null);
  const [seen, setSeen] = useState(value);
  if (seen !== value) {
    setSeen(value);
    setDraft(null);
  }
  return (
    <Slider
      className="conscience-slider"
      value={draft ?? at}
      maxValue={values.length - 1}
      isDisabled={isDisabled}
      onChange={setDraft}
      onChangeEnd={(index) => onChange(values[index] ?? value)}
    >
      <Label>{label}</Label>
      <SliderOutput className="num">
        {({ state }) => text(values[state.getThumbValue(0)] ?? value)}
      </SliderOutput>
      <SliderTrack className="conscience-track">
        <SliderThumb className="conscience-thumb" />
      </SliderTrack>
    </Slider>
  );
}
