/** The button that loses a replica's disk, and the choice of what was on it. */
import { useEffect, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import type { FaultRequest } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
import { itemForKey } from '../components/menu-keys.ts';
import { useServerAway } from '../components/server-away.tsx';
import type { SendFault } from '../run/requests.ts';
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
  const away = useServerAway();
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isShown = open && !away;
  /** The focus goes back to where it came from, rather than to nowhere. */
  const leave = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isShown) return undefined;
    const close = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', close);
    return () => removeEventListener('pointerdown', close);
  }, [isShown]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.key === 'Tab') {
      setOpen(false);
      return;
    }
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]')];
    const next = itemForKey(event.key, items.indexOf(document.activeElement as HTMLElement), items.length);
    if (next === null && event.key !== 'Escape') return;
    event.preventDefault();
    if (next === null) leave();
    else items[next]?.focus();
  };
  return (
    <div
      className="wipe"
      ref={root}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && isShown) leave();
      }}
    >
      <Button
        asksServer
        ref={button}
        tone="danger"
        icon="wipe"
        data-testid={`wipe-${id}`}
        title="Lose its disk: kill it, remove, start again"
        aria-expanded={isShown}
        aria-haspopup="menu"
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' || away) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        Wipe…
      </Button>
      {isShown ? (
        <div className="wipe-menu" role="menu" aria-label={`What to wipe of ${id}`} onKeyDown={onKeyDown}>
          {choices.map(({ what, name, hint }) => (
            <button
              key={what}
              type="button"
              role="menuitem"
              tabIndex={-1}
              autoFocus={what === 'both'}
              data-testid={`wipe-${what}-${id}`}
              onClick={() => {
                leave();
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
