/** Which view of the page is shown, as the address says: `#lab`, `#operator`. */
import { useEffect, useState } from 'react';

export type PageView = 'lab' | 'operator';

function viewInAddress(): PageView {
  return location.hash === '#operator' ? 'operator' : 'lab';
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
      location.hash = next;
    },
  ];
}
