/**
 * Short messages over the page, by React Aria: read out once as they come, a landmark that F6 reaches, and each with a button that closes it. One leaves by itself after a few seconds in which nobody points at it or has the
 * focus in it.
 *
 * Keeps: at most three, of which the oldest goes first; none waits behind them. They cover no control that they need not cover, and stay where they are while they are read.
 *
 * React Aria calls these parts unstable, which is of their names and properties: the version is pinned, and nothing but this file knows of them.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import {
  Button,
  type QueuedToast,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components';
import { type Corner, freePlace, hiddenAt } from '../layout/free-place.ts';
import type { Tone } from '../model/cluster-view.ts';
import { controlBoxes } from './control-boxes.ts';
import { Icon } from './icon.tsx';
import './toasts.css';

const stayMs = 5_000;
const toastsMax = 3;
const edgePx = 16;
/** Between two, as in toasts.css. */
const gapPx = 6;

interface Message {
  readonly tone: Tone;
  readonly text: string;
}

export type Toasts = ToastQueue<Message>;

export function useToasts(): readonly [Toasts, (tone: Tone, text: string) => void] {
  const [queue] = useState(() => new ToastQueue<Message>({ maxVisibleToasts: toastsMax }));
  const show = useCallback(
    (tone: Tone, text: string) => {
      const oldest = queue.visibleToasts[toastsMax - 1];
      if (oldest !== undefined) queue.close(oldest.key);
      queue.add({ tone, text }, { timeout: stayMs });
    },
    [queue],
  );
  return [queue, show];
}

export function ToastsOver({ queue }: { readonly queue: Toasts }) {
  const [corner, setCorner] = useState<Corner>({ right: edgePx, bottom: edgePx });
  const subscribe = useCallback((tell: () => void) => queue.subscribe(tell), [queue]);
  const count = useSyncExternalStore(subscribe, () => queue.visibleToasts.length);
  return (
    <ToastRegion
      queue={queue}
      className="toasts"
      // React Aria makes a landmark of it when its name changes: under one that stays, F6 would not find it.
      aria-label={count === 1 ? '1 message' : `${count} messages`}
      style={{ right: corner.right, bottom: corner.bottom }}
      data-testid="toasts"
    >
      {({ toast }) => <OneToast toast={toast} queue={queue} onPlace={setCorner} />}
    </ToastRegion>
  );
}

interface OneToastProps {
  readonly toast: QueuedToast<Message>;
  readonly queue: Toasts;
  readonly onPlace: (place: (last: Corner) => Corner) => void;
}

function OneToast({ toast, queue, onPlace }: OneToastProps) {
  const { tone, text } = toast.content;
  const own = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const place = (): void => placeAnew(regionOf(own.current!), onPlace);
    place();
    addEventListener('resize', place);
    return () => removeEventListener('resize', place);
  }, [onPlace]);
  useEffect(() => {
    // Those that were there stand still, and so does one that comes while somebody reads them.
    if (isRead(regionOf(own.current!))) queue.pauseAll();
  }, [queue]);
  return (
    <Toast ref={own} toast={toast} className="toast" data-tone={tone}>
      <ToastContent className="toast-content">
        <span className="dot" data-tone={tone} aria-hidden="true" />
        <Text slot="title">{text}</Text>
      </ToastContent>
      <Button slot="close" aria-label="Close" className="button toast-close" data-tone="plain">
        <Icon name="close" />
      </Button>
    </Toast>
  );
}

function regionOf(toast: Element): HTMLElement {
  return toast.closest<HTMLElement>('.toasts')!;
}

/** Not `:hover`: on a screen that is touched that stays where a finger was last. */
function isRead(region: Element): boolean {
  return region.matches('[data-hovered], :focus-within');
}

/** With room for as many as may come, if there is; nothing moves that is in nobody's way, or is read. */
function placeAnew(region: HTMLElement, onPlace: OneToastProps['onPlace']): void {
  if (isRead(region)) return;
  const size = { width: region.offsetWidth, height: region.offsetHeight };
  const within = { width: innerWidth, height: innerHeight };
  const controls = controlBoxes(region);
  const isFirst = region.querySelectorAll('.toast').length === 1;
  onPlace((last) => {
    if (!isFirst && hiddenAt(last, size, within, controls) === 0) return last;
    const roomy = isFirst ? { ...size, height: size.height * toastsMax + gapPx * (toastsMax - 1) } : size;
    const place = freePlace(roomy, within, controls, edgePx);
    return place.hidden === 0 ? place.corner : freePlace(size, within, controls, edgePx).corner;
  });
}
