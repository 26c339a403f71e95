/** A canvas that is drawn anew with the screen, from plain data: React renders nothing for it. Sharp on every screen; still where less motion is wanted. */
import { useEffect, useRef } from 'react';
import type { RefObject } from 'react';

export interface CanvasSize {
  readonly width: number;
  readonly height: number;
}

/** `nowMs`: of the frame, on the wall's clock. */
export type Draw = (brush: CanvasRenderingContext2D, size: CanvasSize, nowMs: number) => void;

/** With less motion: so often, as of then, without a way in between. */
const stillMs = 500;

export function prefersStillness(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** `everyMs`: not more often than that. */
export function useCanvas(draw: Draw, everyMs = 0): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  useEffect(() => {
    latest.current = draw;
  });
  useEffect(() => {
    const element = canvas.current;
    const brush = element?.getContext('2d') ?? null;
    if (element === null || brush === null) return undefined;
    let size: CanvasSize = { width: 0, height: 0 };
    let lastMs = Number.NEGATIVE_INFINITY;
    const fit = (): void => {
      const { width, height } = element.getBoundingClientRect();
      size = { width, height };
      const scale = devicePixelRatio;
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      brush.setTransform(scale, 0, 0, scale, 0, 0);
      lastMs = Number.NEGATIVE_INFINITY;
    };
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    fit();
    let frame = 0;
    const paint = (nowMs: number): void => {
      frame = requestAnimationFrame(paint);
      const leastMs = prefersStillness() ? stillMs : everyMs;
      if (nowMs - lastMs < leastMs - 4 || size.width === 0) return;
      lastMs = nowMs;
      latest.current(brush, size, nowMs);
    };
    frame = requestAnimationFrame(paint);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    };
  }, [everyMs]);
  return canvas;
}
