/** Scrolls the list of models to the one that is chosen, for React: it may have been chosen by the page's address, far down. */
import { type RefObject, useEffect } from 'react';
import { type ModelSection, rowTop, scrolledTo } from '../../spec/listed-models.ts';

/** The list is laid out a few frames after it is there. */
const FRAMES_MAX = 30;

/** Once for each that is chosen: whoever scrolls on, or looks for another, is left alone. */
export function useShownRow(
  list: RefObject<HTMLElement | null>,
  sections: readonly ModelSection[],
  chosen: string,
): void {
  useEffect(() => {
    const top = rowTop(sections, chosen);
    if (top === null) return undefined;
    let frame = 0;
    let left = FRAMES_MAX;
    const show = (): void => {
      const element = list.current;
      const isLaidOut = element !== null && element.clientHeight > 0 && element.scrollHeight > top;
      if (isLaidOut) element.scrollTop = scrolledTo(top, element);
      else if (left-- > 0) frame = requestAnimationFrame(show);
    };
    frame = requestAnimationFrame(show);
    return () => cancelAnimationFrame(frame);
    // oxlint-disable-next-line react/exhaustive-deps -- once for each that is chosen
  }, [chosen]);
}
