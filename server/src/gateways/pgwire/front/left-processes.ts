/**
 * Processes of PostgreSQL whose clients have gone. They do not look whether anybody is there while they execute something, or wait for a lock before their session has begun: clients that come and go could take all places with them.
 *
 * Responsible for: noticing when those end that executed something, telling of them, and ending those that wait before they have begun. What is asked is the adapter's. Invariant: one question at a time, and none while nothing lingers.
 */
import type { LeftRunning } from '../../../api/status.ts';
import type { PostgresDoor } from '../../../ports/client-service.ts';

export interface LeftProcessesOptions {
  /** How many there are whose clients have gone. */
  readonly lingering: () => number;
  readonly door: () => Pick<PostgresDoor, 'lookAtLeft'> | null;
  readonly lookMs: number;
  /** Those are ended that have waited for so long. */
  readonly slowMs: number;
  readonly warn: (fields: object, message: string) => void;
}

const warnEveryMs = 60_000;
const toldMax = 5;

/** Whose a process was. */
interface Owner {
  readonly role: string;
  readonly database: string;
  readonly address: string;
}

interface LeftProcess {
  readonly owner: Owner;
  readonly letGo: () => void;
  readonly sinceMs: number;
  /** As of the last look. */
  waitsFor: string | null;
}

export class LeftProcesses {
  private readonly options: LeftProcessesOptions;
  private timer: NodeJS.Timeout | null = null;
  private isAsking = false;
  private isStopped = false;
  /** That no line has told of. */
  private untold = 0;
  /** By the processes' ids, in the order in which they were left. */
  private readonly awaited = new Map<number, LeftProcess>();
  private toldAtMs = -Infinity;

  constructor(options: LeftProcessesOptions) {
    this.options = options;
  }

  /** Looks again and again, as long as some linger. */
  start(): void {
    if (this.timer !== null || this.isAsking || this.isStopped) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.look();
    }, this.options.lookMs).unref();
  }

  /** `letGo` is called when this process has ended, or nobody can be asked. */
  awaitEnd(pid: number, { role, database, address }: Owner, letGo: () => void): void {
    // Another has had its id since.
    this.awaited.get(pid)?.letGo();
    this.awaited.delete(pid);
    const owner = { role, database, address };
    this.awaited.set(pid, { owner, letGo, sinceMs: performance.now(), waitsFor: null });
    this.start();
  }

  /** Of those that executed something. */
  report(): LeftRunning {
    const nowMs = performance.now();
    const longest = [...this.awaited].slice(0, toldMax).map(([pid, { owner, sinceMs, waitsFor }]) => {
      const { role, database, address } = owner;
      return { pid, role, database, address, leftMs: Math.round(nowMs - sinceMs), waitsFor };
    });
    return { count: this.awaited.size, longest };
  }

  /** Null: no such process is left. */
  ownerOf(pid: number): Owner | null {
    return this.awaited.get(pid)?.owner ?? null;
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private async look(): Promise<void> {
    const { lingering, door, slowMs } = this.options;
    if (lingering() === 0 && this.awaited.size === 0) return;
    this.isAsking = true;
    const asked = [...this.awaited];
    let living: Awaited<ReturnType<PostgresDoor['lookAtLeft']>>['living'] = [];
    try {
      const found = await door()?.lookAtLeft(
        slowMs,
        asked.map(([pid]) => pid),
      );
      this.untold += found?.ended ?? 0;
      living = found?.living ?? [];
    } catch {
      // PostgreSQL has gone, or does not answer: the next look is another question.
    }
    this.isAsking = false;
    this.letGo(asked, new Map(living.map(({ pid, waitsFor }) => [pid, waitsFor])));
    this.tell();
    if (lingering() > 0 || this.awaited.size > 0) this.start();
  }

  private letGo(asked: readonly [number, LeftProcess][], living: ReadonlyMap<number, string | null>): void {
    for (const [pid, left] of asked) {
      const waitsFor = living.get(pid);
      if (waitsFor !== undefined) {
        left.waitsFor = waitsFor;
        continue;
      }
      if (this.awaited.get(pid) === left) this.awaited.delete(pid);
      left.letGo();
    }
  }

  private tell(): void {
    const nowMs = performance.now();
    if (this.untold === 0 || nowMs - this.toldAtMs < warnEveryMs) return;
    this.options.warn(
      { ended: this.untold },
      'sessions of disconnected clients were ended: they waited for a lock during start-up; see pg_locks for its holder',
    );
    this.untold = 0;
    this.toldAtMs = nowMs;
  }
}
