/** Asks before a member goes: what quorum is left then, and that its data go with it. */
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import type { Member } from '../../model/members-view.ts';
import { quorumWithout, quorumWords } from '../../model/quorum-after.ts';
import type { AskedChange } from './members.tsx';

interface MemberChangeProps {
  readonly asked: AskedChange | null;
  readonly members: readonly Member[];
  readonly onClose: () => void;
  readonly onDo: (asked: AskedChange) => void;
}

export function MemberChange({ asked, members, onClose, onDo }: MemberChangeProps) {
  const replica = asked?.replica ?? '';
  const isReplaced = asked?.kind === 'replace';
  return (
    <ConfirmDialog
      isOpen={asked !== null}
      title={isReplaced ? `Replace ${replica}?` : `Remove ${replica}?`}
      confirm={isReplaced ? `Replace ${replica}` : `Remove ${replica}`}
      onClose={onClose}
      onConfirm={() => {
        if (asked !== null) onDo(asked);
      }}
    >
      {isReplaced ? (
        <p>
          Another replica is started first. When it votes, {replica} is taken from the members: the group
          never has fewer voters than now. The demo goes on with it when you look away; until then removing
          the new one gives it up.
        </p>
      ) : (
        <p data-testid="quorum-after">{quorumWords(quorumWithout(members, replica))}</p>
      )}
      <p>{replica} is stopped, and its log and database are deleted from this machine.</p>
    </ConfirmDialog>
  );
}
