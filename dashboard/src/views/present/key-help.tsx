/** All keys of the page, in a dialog. */
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Button } from '../../components/button.tsx';
import { keyList, spellKey } from '../../components/key-list.ts';
import './present.css';

interface KeyHelpProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

export function KeyHelp({ isOpen, onOpenChange }: KeyHelpProps) {
  return (
    <ModalOverlay className="key-help-under" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Modal className="key-help">
        <Dialog className="key-help-dialog" data-testid="key-help">
          <header>
            <Heading slot="title">Keys</Heading>
            <Button tone="plain" icon="close" aria-label="Close" onClick={() => onOpenChange(false)} />
          </header>
          <div className="key-help-groups">
            {keyList.map(({ title, keys }) => (
              <section key={title}>
                <h3>{title}</h3>
                <dl>
                  {keys.map((one) => (
                    <div key={one.text}>
                      <dt>
                        {one.keys.map((key) => (
                          <kbd key={key}>{spellKey(key)}</kbd>
                        ))}
                      </dt>
                      <dd>{one.text}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            ))}
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
