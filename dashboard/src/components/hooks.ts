/** Small bridges between React and the browser: time, an element's size, what localStorage keeps, the theme. */
import { useCallback, useEffect, useState } from 'react';
import type { RefCallback } from 'react';
import type { Size } from '../layout/free-place.ts';

/** Milliseconds since the epoch, renewed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** A ref to put on an element, and the element's inner size in whole pixels (0 before it is known). */
export function useSize(): readonly [RefCallback<HTMLElement>, Size] {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const ref = useCallback((element: HTMLElement | null) => {
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const box = entry?.contentRect;
      setSize({ width: Math.floor(box?.width ?? 0), height: Math.floor(box?.height ?? 0) });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, size];
}

/** Storage may be switched off; then nothing is kept. */
export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Nothing is kept, and nothing else depends on it.
  }
}

export type Theme = 'system' | 'light' | 'dark';

const themeKey = 'barista.theme';

export function storedTheme(): Theme {
  const stored = readStored(themeKey);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const choose = (next: Theme): void => {
    setTheme(next);
    writeStored(themeKey, next === 'system' ? null : next);
    applyTheme(next);
  };
  return [theme, choose];
}

/** True while the system asks for dark; a canvas must be drawn anew when it changes. */
export function useSystemDark(): boolean {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const update = (): void => setDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return dark;
}
