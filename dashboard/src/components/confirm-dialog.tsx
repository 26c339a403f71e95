/** Asks before something is done that cannot be taken back: what it will do, and two buttons, of which the careful one has the focus. */
import type { ReactNode } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Button } from './button.tsx';

interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  /** On the button that does it. */
  readonly confirm: string;
  readonly tone?: 'danger' | 'primary';
  readonly children: ReactNode;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, title, confirm, tone = 'danger', children, onClose, onConfirm } = props;
  return (
    <ModalOverlay
      className="modal-overlay"
      isOpen={isOpen}
      isDismissable
      onOpenChange={(open) => (open ? undefined : onClose())}
    >
      <Modal className="modal">
        <Dialog className="modal-dialog" role="alertdialog" data-testid="confirm-dialog">
          <Heading slot="title">{title}</Heading>
          <div className="modal-body">{children}</div>
          <div className="modal-actions">
            <Button autoFocus data-testid="confirm-not" onClick={onClose}>
              Leave it
            </Button>
            <Button
              asksServer
              tone={tone}
              data-testid="confirm-do"
              onClick={() => {
                onConfirm();
                onClose();
              }}
            >
              {confirm}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
