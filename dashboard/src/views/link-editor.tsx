/** What to do to one directed link: cut, delay, drop, duplicate; or, with none picked, which links are broken. */
import { useState } from 'react';
import type { ClusterStatus, FaultRequest, LinkFault } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { Segmented } from '../components/segmented.tsx';
import { faultsByLink, spellFault } from '../model/cluster-view.ts';
import { linkKey } from '../model/trace-model.ts';
import type { SendFault } from '../live/api.ts';
import type { Link } from './topology.tsx';
import './link-editor.css';

interface LinkEditorProps {
  readonly cluster: ClusterStatus;
  readonly selected: Link | null;
  readonly onSelect: (link: Link | null) => void;
  readonly onFault: SendFault;
}

export function LinkEditor({ cluster, selected, onSelect, onFault }: LinkEditorProps) {
  const faults = faultsByLink(cluster);
  if (selected === null) return <FaultList faults={[...faults.values()]} onSelect={onSelect} />;
  const fault = faults.get(linkKey(selected.from, selected.to)) ?? null;
  return (
    <LinkForm
      key={linkKey(selected.from, selected.to)}
      link={selected}
      fault={fault}
      onSelect={onSelect}
      onFault={onFault}
    />
  );
}

function FaultList(props: {
  readonly faults: readonly LinkFault[];
  readonly onSelect: (link: Link) => void;
}) {
  if (props.faults.length === 0) {
    return (
      <p className="link-hint">
        All links are whole. Pick an arrow to cut it, slow it down or lose its messages.
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
  readonly onSelect: (link: Link | null) => void;
  readonly onFault: SendFault;
}

const delays = [0, 50, 200, 1000] as const;
const chances = [0, 0.1, 0.3, 0.6] as const;

function LinkForm({ link, fault, onSelect, onFault }: LinkFormProps) {
  const [both, setBoth] = useState(false);
  const send = (action: 'cut' | 'delay' | 'drop' | 'duplicate', amount: number): void => {
    const request = { action, from: link.from, to: link.to, amount } as FaultRequest;
    onFault(request);
    if (both) onFault({ ...request, from: link.to, to: link.from } as FaultRequest);
  };
  const chanceChoices = (name: string) =>
    chances.map((value) => ({
      value,
      label: value === 0 ? 'Off' : `${value * 100}%`,
      testId: `link-${name}-${value * 100}`,
    }));
  return (
    <div className="link-form" data-testid="link-editor">
      <div className="link-form-head">
        <span className="mono link-form-name">
          {link.from} → {link.to}
        </span>
        <label className="check">
          <input
            type="checkbox"
            checked={both}
            onChange={(event) => setBoth(event.target.checked)}
            data-testid="link-both"
          />
          both directions
        </label>
        <Button tone="plain" icon="close" aria-label="Leave this link" onClick={() => onSelect(null)} />
      </div>
      <div className="link-form-row">
        <span>Connection</span>
        <Segmented
          label="Connection"
          choices={[
            { value: 0, label: 'Whole', testId: 'link-whole' },
            { value: 1, label: 'Cut', testId: 'link-cut' },
          ]}
          value={fault?.cut === true ? 1 : 0}
          onChange={(amount) => send('cut', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Delay</span>
        <Segmented
          label="Delay"
          choices={delays.map((value) => ({
            value,
            label: value === 0 ? 'Off' : value < 1000 ? `${value} ms` : `${value / 1000} s`,
            testId: `link-delay-${value}`,
          }))}
          value={fault?.delayMs ?? 0}
          onChange={(amount) => send('delay', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Drop</span>
        <Segmented
          label="Drop"
          choices={chanceChoices('drop')}
          value={fault?.drop ?? 0}
          onChange={(amount) => send('drop', amount)}
        />
      </div>
      <div className="link-form-row">
        <span>Duplicate</span>
        <Segmented
          label="Duplicate"
          choices={chanceChoices('duplicate')}
          value={fault?.duplicate ?? 0}
          onChange={(amount) => send('duplicate', amount)}
        />
      </div>
    </div>
  );
}
