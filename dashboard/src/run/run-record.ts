/** All that is kept of a run: its frames (as of any moment), its messages, its clocks, and what became of each replica. Each of them is bounded by itself. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Frame } from '../model/frames.ts';
import { Tracks } from '../timeline/tracks.ts';
import { EventClock } from './event-clock.ts';
import { FlightLog } from './flights.ts';
import { RunHistory } from './run-history.ts';

const incarnationsMax = 256;

export class RunRecord {
  readonly history = new RunHistory();
  readonly flights = new FlightLog();
  readonly clock = new EventClock();
  readonly tracks = new Tracks();
  /** By incarnation, the last event that was told: of the last `incarnationsMax` that were met. */
  private readonly last = new Map<string, { readonly run: string; readonly seq: number }>();

  add(atMs: number, frames: readonly Frame[]): void {
    this.history.add(atMs, frames);
    const ms = this.history.lastMs!;
    const events = this.unseen(frames.flatMap((frame) => (frame.type === 'events' ? frame.events : [])));
    this.flights.add(events);
    this.clock.add(ms, events);
    this.tracks.add({ atMs: ms, frames });
  }

  /** A page that connects again is shown a little of the past again. */
  private unseen(events: readonly TraceEvent[]): readonly TraceEvent[] {
    return events.filter(({ replica, run, seq }) => {
      const last = this.last.get(replica);
      if (last !== undefined && last.run === run && seq <= last.seq) return false;
      // The last of them is who told last.
      this.last.delete(replica);
      this.last.set(replica, { run, seq });
      if (this.last.size > incarnationsMax) this.last.delete(this.last.keys().next().value!);
      return true;
    });
  }
}
