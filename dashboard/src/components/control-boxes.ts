/** Where the controls are that are on the screen now. Those of `except` are none. */
import type { Box } from '../layout/free-place.ts';

const selector =
  'button, a[href], input, select, textarea, summary, [role="slider"], [role="button"], [tabindex="0"]';

export function controlBoxes(except: Element): readonly Box[] {
  return [...document.querySelectorAll<HTMLElement>(selector)].flatMap((control) => {
    if (except.contains(control) || !control.checkVisibility({ visibilityProperty: true })) return [];
    const { left, top, right, bottom } = (control.closest('label') ?? control).getBoundingClientRect();
    const isSeen = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    return isSeen && right > left ? [{ left, top, right, bottom }] : [];
  });
}
