/**
 * What happened last, in one sentence, as of a moment of the run: for people who sit too far away to read the rest.
 *
 * Pure. Of what happened at the same time, what changed hands counts more than what broke, and that more than what heals.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { formatBallot } from '../model/cluster-view.ts';
import { describeEvent } from '../model/event-text.ts';
import { replicaOf } from '../model/incarnation.ts';
import type { Tracks } from '../timeline/tracks.ts';

export interface Caption {
  readonly atMs: number;
  readonly text: string;
  readonly tone: 'bad' | 'good' | 'plain';
}

export interface Told {
  readonly tracks: Pick<Tracks, 'flags' | 'elections'>;
  /** As of the moment. */
  readonly events: readonly TraceEvent[];
  /** Of an event, on the run's clock; null: it is not known. */
  readonly msAt: (us: number) => number | null;
}

const tones = {
  stopped: 'bad',
  paused: 'bad',
  fault: 'bad',
  started: 'good',
  resumed: 'good',
  healed: 'good',
} as const;

/** Null: nothing that is worth a sentence. */
export function captionAt({ tracks, events, msAt }: Told, momentMs: number): Caption | null {
  const recovery = events.findLast(({ name }) => name === 'RecoveryPhase');
  const election = tracks.elections.findLast(({ atMs }) => atMs <= momentMs);
  const flag = tracks.flags.findLast(({ atMs }) => atMs <= momentMs);
  const all: readonly (Caption | null)[] = [
    recovery === undefined ? null : ofRecovery(recovery, msAt(recovery.atUs)),
    flag === undefined ? null : { atMs: flag.atMs, text: sentence(flag.text), tone: tones[flag.kind] },
    election === undefined
      ? null
      : {
          atMs: election.atMs,
          text:
            election.kind === 'won'
              ? `${election.replica} is elected, and leads under ballot ${formatBallot(election.ballot)}.`
              : `${election.replica} stands for election, under ballot ${formatBallot(election.ballot)}.`,
          tone: 'plain',
        },
  ];
  return all.reduce(
    (latest, one) => (one === null || (latest !== null && latest.atMs > one.atMs) ? latest : one),
    null,
  );
}

function ofRecovery(event: TraceEvent, atMs: number | null): Caption | null {
  if (atMs === null) return null;
  const text = sentence(`${replicaOf(event.replica)} ${describeEvent(event)}`);
  return { atMs, text, tone: text.endsWith('recovered.') ? 'good' : 'plain' };
}

/** Lines of the event list have no end. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
