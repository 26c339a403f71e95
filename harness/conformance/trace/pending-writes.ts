/**
 * What a run has handed to its log and has not flushed yet, as far as its events tell.
 *
 * Responsible for: the order of the writes, and that a flush makes something durable. A configuration that became known is written by itself, at the end of the step, unless
 * something else takes it along: no event tells which (recordConfiguration in server/src/multipaxos/membership.ts). So it may be there or not.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { ballotName, noBallot } from './spec-message.ts';

/** One write; its last record stands for it. */
export type Write =
  | { readonly kind: 'vote'; readonly name: string }
  | { readonly kind: 'promise'; readonly ballot: Ballot }
  | { readonly kind: 'base'; readonly slot: number }
  | { readonly kind: 'configuration' };

export class PendingWrites {
  /** What a restart knows by its log may be written first. */
  private writes: readonly Write[] = [{ kind: 'configuration' }];

  /** Null: everything is durable. */
  last(): Write | null {
    return this.writes.at(-1) ?? null;
  }

  /** Call `learn` behind it, when answers have been told what they wait for. */
  write(event: ConsensusEvent, previous: ConsensusEvent | undefined): void {
    const written = writtenBy(event, previous);
    if (written !== null) this.writes = [...this.writes, written];
  }

  learn(event: ConsensusEvent, previous: ConsensusEvent | undefined): void {
    if (previous === undefined || previous.state.configuration === event.state.configuration) return;
    this.writes = [...this.writes, { kind: 'configuration' }];
  }

  /** @returns false if nothing was there to be flushed */
  flush(event: ConsensusEvent): boolean {
    const last = this.writes.findLastIndex((write) => isDurable(write, event));
    if (last === -1 && this.writes[0]?.kind !== 'configuration') return false;
    this.writes = this.writes.slice(Math.max(1, last + 1));
    return true;
  }
}

/** Made durable by this flush, or known to be durable before. */
export function isDurable(write: Write, event: ConsensusEvent): boolean {
  const { votes = [], base = 0, state } = event;
  switch (write.kind) {
    case 'vote':
      return votes.some((vote) => nameOf(vote) === write.name);
    case 'promise':
      return compareBallots(state.durablePromised, write.ballot) >= 0;
    case 'base':
      return base >= write.slot;
    case 'configuration':
      return false;
    default:
      return write satisfies never;
  }
}

function writtenBy(event: ConsensusEvent, previous: ConsensusEvent | undefined): Write | null {
  const { name, votes = [], base, state } = event;
  if (name === 'Fsync' || name === 'Restart' || name === 'Crash') return null;
  const last = votes.at(-1);
  if (last !== undefined) return { kind: 'vote', name: nameOf(last) };
  if (base !== undefined) return { kind: 'base', slot: base };
  const isPromised = previous !== undefined && !sameBallot(previous.state.promised, state.promised);
  return isPromised ? { kind: 'promise', ballot: state.promised } : null;
}

function nameOf([slot, ballot]: NonNullable<ConsensusEvent['votes']>[number]): string {
  return `${slot} ${ballotName(ballot ?? noBallot)}`;
}
