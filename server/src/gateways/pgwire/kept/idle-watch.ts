/** Looks at all kept clients every now and then, with one timer. */
import type { KeptClient } from './kept-client.ts';

export class IdleWatch {
  private readonly everyMs: number;
  private readonly clients = new Set<Pick<KeptClient, 'lookIdle'>>();
  private timer: NodeJS.Timeout | null = null;

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Returns the way to stop. */
  watch(client: Pick<KeptClient, 'lookIdle'>): () => void {
    this.clients.add(client);
    this.timer ??= setInterval(() => {
      const now = performance.now();
      for (const one of this.clients) one.lookIdle(now);
    }, this.everyMs);
    return () => {
      this.clients.delete(client);
      if (this.clients.size > 0 || this.timer === null) return;
      clearInterval(this.timer);
      this.timer = null;
    };
  }
}
