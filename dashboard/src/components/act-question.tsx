/** Asks before an act that leaves no majority: the demo has refused it, and says what it would do. */
import { ConfirmDialog } from './confirm-dialog.tsx';
import type { ActQuestion } from './use-acts.ts';

export function ActQuestionDialog({ question }: { readonly question: ActQuestion | null }) {
  return (
    <ConfirmDialog
      isOpen={question !== null}
      title="No majority will be left"
      confirm="Do it all the same"
      onClose={() => question?.leave()}
      onConfirm={() => question?.confirm()}
    >
      <p data-testid="act-question">{question?.text}</p>
    </ConfirmDialog>
  );
}
