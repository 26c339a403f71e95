/** The button that loses a replica's disk, and the choice of what was on it. */
import { useEffect, useRef, useState } from 'react';
import type { FaultRequest } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import type { SendFault } from '../live/api.ts';
import './wipe-menu.css';

type Wipe = Extract<FaultRequest, { readonly action: 'wipe' }>;
type Wiped = Wipe['what'];
type ReplicaId = Wipe['replica'];

const choices: readonly { readonly what: Wiped; readonly name: string; readonly hint: string }[] = [
  { what: 'both', name: 'Whole disk', hint: 'log and PostgreSQL' },
  { what: 'log', name: 'Log only', hint: 'its promises and votes: joins as a new incarnation' },
  { what: 'database', name: 'PostgreSQL only', hint: 'keeps its vote, copies the data' },
];

interface WipeMenuProps {
  readonly id: ReplicaId;
  /** Too few voters would be left to let it in again. */
  readonly losesQuorum: boolean;
  readonly onFault: SendFault;
}

export function WipeMenu({ id, losesQuorum, onFault }: WipeMenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const close = (event: Event): void => {
      if (
        event instanceof KeyboardEvent
          ? event.key === 'Escape'
          : !root.current?.contains(event.target as Node)
      )
        setOpen(false);
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, [open]);
  return (
    <div className="wipe" ref={root}>
      <Button
        tone="danger"
        icon="wipe"
        data-testid={`wipe-${id}`}
        title="Lose its disk: kill it, remove, start again"
        aria-expanded={open}
        aria-haspopup="menu"
        onClick={() => setOpen(!open)}
      >
        Wipe…
      </Button>
      {open ? (
        <div className="wipe-menu" role="menu" aria-label={`What to wipe of ${id}`}>
          {choices.map(({ what, name, hint }) => (
            <button
              key={what}
              type="button"
              role="menuitem"
              autoFocus={what === 'both'}
              data-testid={`wipe-${what}-${id}`}
              onClick={() => {
                setOpen(false);
                onFault({ action: 'wipe', replica: id, what });
              }}
            >
              <strong>{name}</strong>
              <span>{hint}</span>
            </button>
          ))}
          {losesQuorum ? (
            <p className="wipe-warning" data-testid={`wipe-warning-${id}`}>
              Without its log too few voters are left: nobody could let it in again, and that is data loss.
            </p>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}
