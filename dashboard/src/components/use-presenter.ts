/** Presenter mode: on or off, with the whole screen where the browser allows it. Whoever leaves the whole screen leaves it. */
import { createContext, useCallback, useContext, useEffect, useState } from 'react';

export interface Presenter {
  readonly isOn: boolean;
  readonly toggle: () => void;
  readonly leave: () => void;
}

export function usePresenter(): Presenter {
  const [isOn, setOn] = useState(false);
  const leave = useCallback(() => {
    setOn(false);
    if (document.fullscreenElement !== null) void document.exitFullscreen().catch(() => undefined);
  }, []);
  const enter = useCallback(() => {
    setOn(true);
    // Where it is not allowed, the mode is as good within the window.
    if (document.fullscreenEnabled) void document.documentElement.requestFullscreen().catch(() => undefined);
  }, []);
  useEffect(() => {
    const follow = (): void => {
      if (document.fullscreenElement === null) setOn(false);
    };
    document.addEventListener('fullscreenchange', follow);
    return () => document.removeEventListener('fullscreenchange', follow);
  }, []);
  return { isOn, toggle: isOn ? leave : enter, leave };
}

const nobody: Presenter = { isOn: false, toggle: () => undefined, leave: () => undefined };
const Presenting = createContext(nobody);

export const PresentingProvider = Presenting.Provider;

export function usePresenting(): Presenter {
  return useContext(Presenting);
}

const presentedScale = 1.5;

/** How large a stage is drawn. */
export function useStageScale(): number {
  return usePresenting().isOn ? presentedScale : 1;
}
