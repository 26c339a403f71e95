/** Which view of the page is shown, as the address says: `#lab`, `#operator`; where it names a simulated run, too, `#sim?...&view=operator`. */
import { useEffect, useState } from 'react';

export type PageView = 'lab' | 'operator';

export function viewInAddress(): PageView {
  return /^#operator$|[?&]view=operator\b/.test(location.hash) ? 'operator' : 'lab';
}

/** The same address, with this view. */
export function addressWith(hash: string, view: PageView): string {
  if (!hash.startsWith('#sim?')) return `#${view}`;
  const run = hash.replace(/&view=\w*/g, '');
  return view === 'lab' ? run : `${run}&view=${view}`;
}

export function useView(): readonly [PageView, (view: PageView) => void] {
  const [view, setView] = useState(viewInAddress);
  useEffect(() => {
    const follow = (): void => setView(viewInAddress());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [
    view,
    (next) => {
      location.hash = addressWith(location.hash, next);
    },
  ];
}
