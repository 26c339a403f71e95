/** Which view of the page is shown, as the address says: `#lab`, `#compare`, `#spec`, `#operator`; where it names a simulated run, too, `#sim?...&view=operator`. */
import { useEffect, useState } from 'react';

export const pageViews = ['lab', 'compare', 'spec', 'operator'] as const;

export type PageView = (typeof pageViews)[number];

export function viewInAddress(hash: string = location.hash): PageView {
  const named = /[?&]view=(\w+)/.exec(hash) ?? /^#(\w+)/.exec(hash);
  return pageViews.find((view) => view === named?.[1]) ?? 'lab';
}

/** The same address, with this view. */
export function addressWith(hash: string, view: PageView): string {
  if (!hash.startsWith('#sim?')) return `#${view}`;
  const run = hash.replace(/&(?:view|mode|model|step|walk|variant)=[\w.-]*/g, '');
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
