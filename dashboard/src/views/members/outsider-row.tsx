/** A replica that runs here and is no member, and the button that removes it, as each member has one. */
import { Button } from '../../components/button.tsx';
import { ReplicaName } from '../../components/replica-name.tsx';
import type { AskedChange } from './members.tsx';
import type { ReplicaChange } from './use-replica-change.ts';

interface RemoveButtonProps {
  readonly replica: string;
  readonly may: ReplicaChange['may'];
  readonly onAsk: (asked: AskedChange) => void;
}

interface OutsiderRowProps extends Pick<RemoveButtonProps, 'may' | 'onAsk'> {
  readonly id: string;
  readonly ids: readonly string[];
}

/** It runs here, and is no member: all that can be done is to remove what is left of it. */
export function OutsiderRow({ id, ids, may, onAsk }: OutsiderRowProps) {
  return (
    <tr data-testid={`member-row-${id}`}>
      <th scope="row">
        <span className="members-name">
          <ReplicaName id={id} ids={ids} />
        </span>
      </th>
      <td>
        <span className="badge" data-tone="warn">
          no member
        </span>
      </td>
      <td className="quiet" colSpan={4}>
        It runs here, and neither votes nor is told what is chosen.
      </td>
      <td className="member-acts">
        <RemoveButton replica={id} may={may} onAsk={onAsk} />
      </td>
    </tr>
  );
}

export function RemoveButton({ replica, may, onAsk }: RemoveButtonProps) {
  return (
    <Button
      asksServer
      tone="danger"
      disabled={!may({ action: 'remove', replica })}
      aria-label={`Remove ${replica}`}
      data-testid={`member-remove-${replica}`}
      onClick={() => onAsk({ kind: 'remove', replica })}
    >
      Remove
    </Button>
  );
}
