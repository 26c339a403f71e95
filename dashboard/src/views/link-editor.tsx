/** What to do to one directed link: cut, delay, drop, duplicate; or, with none picked, which links are broken. */
import { memo, useEffect, useState } from 'react';
import type { KeyboardEvent } from 'react';
import type { ClusterStatus, FaultRequest, LinkFault } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { Segmented } from '../components/segmented.tsx';
import { useServerAway } from '../components/server-away.tsx';
import { faultsByLink, spellFault } from '../model/cluster-view.ts';
import { mirrored, sameFault, withAmount } from '../model/link-fault.ts';
import type { Parts } from '../model/link-fault.ts';
import { linkKey } from '../model/trace-model.ts';
import type { SendFault } from '../run/requests.ts';
import type { Link } from './topology.tsx';
import './link-editor.css';

interface LinkEditorProps {
  readonly cluster: ClusterStatus;
  readonly selected: Link | null;
  readonly onSelect: (link: Link | null) => void;
  readonly onFault: SendFault;
}

export const LinkEditor = memo(function LinkEditor({
  cluster,
  selected,
  onSelect,
  onFault,
}: LinkEditorProps) {
  const faults = faultsByLink(cluster);
  if (selected === null) return <FaultList faults={[...faults.values()]} onSelect={onSelect} />;
  const fault = faults.get(linkKey(selected.from, selected.to)) ?? null;
  return (
    <LinkForm
      key={linkKey(selected.from, selected.to)}
      link={selected}
      fault={fault}
      wayBack={faults.get(linkKey(selected.to, selected.from)) ?? null}
      onSelect={onSelect}
      onFault={onFault}
    />
  );
});

function FaultList(props: {
  readonly faults: readonly LinkFault[];
  readonly onSelect: (link: Link) => void;
}) {
  if (props.faults.length === 0) {
    return (
      <p className="link-hint">
        No link has a fault. Pick an arrow to cut it, slow it down or lose its messages.
      </p>
    );
  }
  return (
    <ul className="fault-list" data-testid="fault-list">
      {props.faults.map((fault) => (
        <li key={linkKey(fault.from, fault.to)}>
          <button type="button" onClick={() => props.onSelect(fault)}>
            <span className="mono">
              {fault.from} → {fault.to}
            </span>
            <span className={fault.cut ? 'fault-cut' : 'fault-impaired'}>{spellFault(fault)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface LinkFormProps {
  readonly link: Link;
  readonly fault: LinkFault | null;
  /** Of the other direction. */
  readonly wayBack: LinkFault | null;
  readonly onSelect: (link: Link | null) => void;
  readonly onFault: SendFault;
}

/** Within this time a status tells of a fault. */
const tellsMs = 2000;
const delays = [0, 50, 200, 1000] as const;
const chances = [0, 0.1, 0.3, 0.6] as const;

function LinkForm({ link, fault, wayBack, onSelect, onFault }: LinkFormProps) {
  const away = useServerAway();
  const back = { from: link.to, to: link.from };
  const [both, setBoth] = useState(() => fault !== null && sameFault(fault, wayBack));
  // What was asked for a moment ago is not in the status yet: it is shown all the same, or nobody could take it back.
  const [asked, setAsked] = useState<Parts | null>(null);
  useEffect(() => {
    if (asked === null) return undefined;
    const timer = setTimeout(() => setAsked(null), tellsMs);
    return () => clearTimeout(timer);
  }, [asked]);
  const present = asked ?? fault;
  const send = (action: 'cut' | 'delay' | 'drop' | 'duplicate', amount: number): void => {
    const request = { action, from: link.from, to: link.to, amount } as FaultRequest;
    setAsked(withAmount(present, action, amount));
    onFault(request);
    if (both) onFault({ ...request, ...back } as FaultRequest);
  };
  /** What is set here already is meant for both as well. */
  const tick = (isBoth: boolean): void => {
    setBoth(isBoth);
    if (isBoth) for (const request of mirrored(present, wayBack, back)) onFault(request);
  };
  const leave = (): void => {
    onSelect(null);
    // To where it came from, rather than to nowhere.
    document.querySelector<SVGElement>(`[data-testid="link-${link.from}-${link.to}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') leave();
  };
  const chanceChoices = (name: string) =>
    chances.map((value) => ({
      value,
      label: value === 0 ? 'Off' : `${value * 100}%`,
      testId: `link-${name}-${value * 100}`,
    }));
  return (
    <div className="link-form" data-testid="link-editor" onKeyDown={onKeyDown}>
      <div className="link-form-head">
        <span className="mono link-form-name">
          {link.from} → {link.to}
        </span>
        <label className="check">
          <input
            type="checkbox"
            checked={both}
            disabled={away}
            onChange={(event) => tick(event.target.checked)}
            data-testid="link-both"
          />
          both directions
        </label>
        <Button tone="plain" icon="close" aria-label="Leave this link" onClick={leave} />
      </div>
      {wayBack === null && fault === null ? null : (
        <p className="link-back quiet" data-testid="link-back">
          <span className="mono">
            {back.from} → {back.to}
          </span>{' '}
          is {wayBack === null ? 'whole' : spellFault(wayBack)}
        </p>
      )}
      <div className="link-form-row">
        <span>Connection</span>
        <Segmented
          disabled={away}
          label="Connection"
          choices={[
            { value: 0, label: 'Whole', testId: 'link-whole' },
            { value: 1, label: 'Cut', testId: 'link-cut' },
          ]}
          value={present?.cut === true ? 1 : 0}
          onChange={(amount) => send('cut', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Delay</span>
        <Segmented
          disabled={away}
          label="Delay"
          choices={delays.map((value) => ({
            value,
            label: value === 0 ? 'Off' : value < 1000 ? `${value} ms` : `${value / 1000} s`,
            testId: `link-delay-${value}`,
          }))}
          value={present?.delayMs ?? 0}
          onChange={(amount) => send('delay', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Drop</span>
        <Segmented
          disabled={away}
          label="Drop"
          choices={chanceChoices('drop')}
          value={present?.drop ?? 0}
          onChange={(amount) => send('drop', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Duplicate</span>
        <Segmented
          disabled={away}
          label="Duplicate"
          choices={chanceChoices('duplicate')}
          value={present?.duplicate ?? 0}
          onChange={(amount) => send('duplicate', amount)}
        />
      </div>
    </div>
  );
}
