/** Keys of the page. None while somebody writes, and those that a control has a use for itself not while it has the focus. */
import { useEffect, useRef } from 'react';

/** By `KeyboardEvent.key`, with `Shift+` before it. */
export type Keys = Readonly<Record<string, () => void>>;

const writing = 'input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable=true]';
const controls = 'button, a, input, [role=slider], [role=menuitem], [role=dialog] *';
/** Controls take these for themselves. */
const ofControls: ReadonlySet<string> = new Set([
  ' ',
  'Enter',
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
]);

export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as Element | null;
      if (target?.closest(writing) != null) return;
      if (ofControls.has(event.key) && target?.closest(controls) != null) return;
      const act = latest.current[event.shiftKey ? `Shift+${event.key}` : event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
