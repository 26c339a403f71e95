/** Short messages in the corner, read out by screen readers; each leaves after a few seconds. Keeps: at most three. */
import { useCallback, useState } from 'react';
import type { Tone } from '../model/cluster-view.ts';

const stayMs = 4500;
const toastsMax = 3;

export interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
}

export function useToasts(): readonly [readonly Toast[], (tone: Tone, text: string) => void] {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const show = useCallback((tone: Tone, text: string) => {
    const toast = { id: performance.now() + Math.random(), tone, text };
    setToasts((current) => [...current, toast].slice(-toastsMax));
    setTimeout(() => setToasts((current) => current.filter((other) => other !== toast)), stayMs);
  }, []);
  return [toasts, show];
}

export function Toasts({ toasts }: { readonly toasts: readonly Toast[] }) {
  return (
    <div className="toasts" role="status" aria-live="polite" data-testid="toasts">
      {toasts.map((toast) => (
        <div className="toast" key={toast.id}>
          <span className="dot" data-tone={toast.tone} aria-hidden="true" />
          {toast.text}
        </div>
      ))}
    </div>
  );
}
