/** The button that loses a replica's disk, and the choice of what was on it. */
import { useState } from 'react';
import { Menu, MenuItem, MenuTrigger, Popover, Pressable } from 'react-aria-components';
import type { FaultRequest } from '../../../server/src/api/status.ts';
import { Button } from '../components/button.tsx';
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
  return (
    <MenuTrigger isOpen={open && !away} onOpenChange={setOpen}>
      <Pressable>
        <Button
          asksServer
          tone="danger"
          icon="wipe"
          data-testid={`wipe-${id}`}
          title="Lose its disk: kill it, remove, start again"
        >
          Wipe…
        </Button>
      </Pressable>
      <Popover className="menu-popover wipe-popover" placement="top end">
        <Menu
          className="menu"
          aria-label={`What to wipe of ${id}`}
          autoFocus="first"
          onAction={(what) => onFault({ action: 'wipe', replica: id, what: what as Wiped })}
        >
          {choices.map(({ what, name, hint }) => (
            <MenuItem
              key={what}
              id={what}
              className="menu-item"
              data-tone="danger"
              textValue={name}
              data-testid={`wipe-${what}-${id}`}
            >
              <strong>{name}</strong>
              <span>{hint}</span>
            </MenuItem>
          ))}
        </Menu>
        {losesQuorum ? (
          <p className="wipe-warning" data-testid={`wipe-warning-${id}`}>
            Without its log too few voters are left: nobody could let it in again, and that is data loss.
          </p>
        ) : null}
      </Popover>
    </MenuTrigger>
  );
}
