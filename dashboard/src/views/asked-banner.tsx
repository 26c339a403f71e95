/** Says, below the page's head, what was asked for and cannot be shown: by the address, by a file, of a run. It stays until it has been read. */
import { useSyncExternalStore } from 'react';
import { useAddressProblem } from '../components/address-problem.tsx';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { useRunChoice } from './source-menu.tsx';
import './banner.css';

const noChoice = { subscribe: () => () => undefined };

export function AskedBanner() {
  const choice = useRunChoice();
  const [ofAddress, dismissAddress] = useAddressProblem();
  const ofRun = useSyncExternalStore((choice ?? noChoice).subscribe, () => choice?.problem() ?? null);
  const trouble = useSyncExternalStore(
    (choice ?? noChoice).subscribe,
    () => choice?.simulated()?.trouble() ?? null,
  );
  const text = [ofAddress, ofRun, trouble].filter((problem) => problem !== null).join(' ');
  if (text === '') return null;
  return (
    <div className="banner banner-asked" data-tone="warn" role="alert">
      <Icon name="warning" />
      <p data-testid="source-problem">{text}</p>
      {/* What befell the simulator stays true. */}
      {ofAddress === null && ofRun === null ? null : (
        <Button
          tone="plain"
          icon="close"
          aria-label="I have read it"
          data-testid="problem-read"
          onClick={() => {
            dismissAddress();
            choice?.dismiss();
          }}
        />
      )}
    </div>
  );
}
