/** One line that tells how far something is: rewritten in place on a terminal, now and then a new one elsewhere. */
export interface ProgressLine {
  /** `bytesTotal` null: not known. */
  update(bytes: number, bytesTotal: number | null): void;
  /** Takes it off the terminal. */
  clear(): void;
}

export interface ProgressOptions {
  /** Such as `Received`. */
  readonly what: string;
  readonly write: (text: string) => void;
  readonly terminal: boolean;
  readonly nowMs: () => number;
}

const terminalMs = 100;
const elsewhereMs = 10_000;

export function createProgressLine({ what, write, terminal, nowMs }: ProgressOptions): ProgressLine {
  const beganMs = nowMs();
  let toldMs = terminal ? Number.NEGATIVE_INFINITY : beganMs;
  let shown = false;
  return {
    update(bytes, bytesTotal) {
      const now = nowMs();
      if (now - toldMs < (terminal ? terminalMs : elsewhereMs)) return;
      toldMs = now;
      shown = true;
      const text = `${what} ${progressText(bytes, bytesTotal, now - beganMs)}`;
      write(terminal ? `\r\u001B[K${text}` : `${text}\n`);
    },
    clear() {
      if (terminal && shown) write('\r\u001B[K');
      shown = false;
    },
  };
}

export function progressText(bytes: number, bytesTotal: number | null, tookMs: number): string {
  // The total is an estimate: 100 % is for what is complete.
  const of =
    bytesTotal === null || bytesTotal === 0
      ? ''
      : ` of about ${megabytes(bytesTotal)} (${Math.min(99, Math.floor((bytes / bytesTotal) * 100))} %)`;
  const rate = tookMs > 0 ? `, ${megabytes((bytes / tookMs) * 1000)}/s` : '';
  return `${megabytes(bytes)}${of}${rate}`;
}

export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return value >= 1000 ? `${(value / 1000).toFixed(1)} GB` : `${value.toFixed(value < 10 ? 1 : 0)} MB`;
}
