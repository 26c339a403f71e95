/**
 * A recovery as steps that a reader can follow: which there are, which one it is at, and how far that one is. Pure reading of one status.
 */
import type { RecoveryProgress, ReplicaStatus } from '../../../server/src/api/status.ts';
import { formatBytes, formatCount } from './format.ts';
import { memberRole } from './members-view.ts';

export type StepName = 'joining' | 'copying' | 'starting' | 'catchingUp' | 'voting';

export interface RecoveryStep {
  readonly name: StepName;
  /** A word, for under its part of the bar. */
  readonly label: string;
  readonly state: 'done' | 'now' | 'todo';
  /** 0 to 1: how much of its part is filled. */
  readonly filled: number;
}

export interface RecoveryView {
  readonly step: StepName;
  readonly title: string;
  readonly detail: string;
  /** Why the last attempt failed; null once a copy runs, or if none did. */
  readonly failure: string | null;
  readonly steps: readonly RecoveryStep[];
}

const labels: Readonly<Record<StepName, string>> = {
  joining: 'join',
  copying: 'copy',
  starting: 'start',
  catchingUp: 'catch up',
  voting: 'vote',
};

const titles: Readonly<Record<StepName, string>> = {
  joining: 'Asking to be let in',
  copying: 'Copying what differs',
  starting: 'Starting PostgreSQL on the copy',
  catchingUp: 'Catching up',
  voting: 'Caught up: becoming a voter',
};

export const causes: Readonly<Record<RecoveryProgress['cause'], string>> = {
  noLog: 'it has no log',
  logLost: 'its log was lost',
  databaseLost: 'its PostgreSQL was lost',
  bothLost: 'its disk was lost',
  logPurged: 'the others have purged what it lacks',
  diverged: 'its data differed',
  parted: 'it wrote what was never chosen',
  new: 'it had no data yet',
};

const blockBytes = 8192;

/** Null if nothing is being recovered. */
export function recoveryView(status: ReplicaStatus): RecoveryView | null {
  const { recovery } = status;
  const learns = memberRole(status) === 'learner';
  if (recovery === null && !(learns && status.state === 'serving')) return null;
  const now: StepName = recovery?.phase ?? 'voting';
  const names = stepsOf(recovery, learns, now);
  const at = names.indexOf(now);
  const filled = recovery?.percent == null ? 0 : Math.max(0, Math.min(1, recovery.percent / 100));
  return {
    step: now,
    title: titles[now],
    detail: detailOf(recovery),
    failure: failureOf(recovery),
    steps: names.map((name, index) => ({
      name,
      label: labels[name],
      state: index < at ? 'done' : index === at ? 'now' : 'todo',
      filled: index < at ? 1 : index === at ? filled : 0,
    })),
  };
}

/** A log that is gone means joining and earning the vote; a database that is gone means copying. */
function stepsOf(recovery: RecoveryProgress | null, learns: boolean, now: StepName): readonly StepName[] {
  const cause = recovery?.cause ?? 'logLost';
  const withoutLog = learns || ['noLog', 'logLost', 'bothLost', 'new'].includes(cause);
  // Before it is let in, a replica cannot tell whether the log will do; a new one takes a copy only if it will not.
  const copies = cause !== 'logLost' && (cause !== 'new' || (recovery?.attempts ?? 0) > 0);
  const all: readonly StepName[] = ['joining', 'copying', 'starting', 'catchingUp', 'voting'];
  return all.filter((name) => {
    if (name === now || name === 'catchingUp') return true;
    return name === 'joining' || name === 'voting' ? withoutLog : copies;
  });
}

function detailOf(recovery: RecoveryProgress | null): string {
  if (recovery === null) return '';
  const { phase, percent, source, attempts } = recovery;
  if (phase !== 'copying') return percent === null ? '' : `${percent}%`;
  if (source === null) return 'looking for a source';
  if (percent === 100) return `all blocks from ${source}: being made durable`;
  return `${comparedText(recovery, source)}${attempts > 1 ? `, attempt ${attempts}` : ''}`;
}

/** What is equal is not sent, so what was compared tells how far it is. */
function comparedText({ bytes, bytesTotal, bytesReceived }: RecoveryProgress, source: string): string {
  // The total is an estimate of the beginning: PostgreSQL goes on writing meanwhile.
  const of = bytesTotal !== null && bytes <= bytesTotal ? ` of ${formatBlocks(bytesTotal)}` : '';
  const sent = bytesReceived === undefined ? '' : `, ${formatBytes(bytesReceived)} sent`;
  return `${formatBlocks(bytes)}${of} blocks compared with ${source}${sent}`;
}

function formatBlocks(bytes: number): string {
  return formatCount(Math.ceil(bytes / blockBytes));
}

function failureOf(recovery: RecoveryProgress | null): string | null {
  if (recovery === null || recovery.lastFailure === null || recovery.phase === 'catchingUp') return null;
  const { reason, source, agoMs } = recovery.lastFailure;
  const who = source === null ? '' : `, with ${source}`;
  return `The last attempt failed ${formatWholeAge(agoMs)} ago${who}: ${reason}`;
}

/** Without a decimal: it is a sentence, and must not flicker. */
function formatWholeAge(ms: number): string {
  return ms < 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.floor(ms / 60_000)} min`;
}
