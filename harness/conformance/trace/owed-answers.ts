/**
 * The answers that a replica owes until what it has written is durable, and the flush in which they leave.
 *
 * Responsible for: their content, and that none leaves sooner or later than it must. The commit point in one is that which the replica had when it voted: what it came to
 * know by the same message, over the slots that it had just voted for, is not in it (handleAccept in server/src/multipaxos/follower.ts). An Accept that comes again leaves no event:
 * the answer to it tells no lower commit point than the first one.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { isDurable, PendingWrites, type Write } from './pending-writes.ts';
import type { ConsensusEvent } from './read-trace.ts';

type Sent = NonNullable<ConsensusEvent['sent']>[number];

/** `promise`: answers a Prepare; its content is the specification's. */
interface Answer {
  readonly kind: 'promise' | 'vote' | 'acknowledgement';
  readonly to: ReplicaId;
  readonly ballot: Ballot;
  readonly commitPoint: number;
  readonly firstSlot: number;
  /** The last slot that it votes for is one of these two or between them: it may have had no room for all. */
  readonly lastSlots: readonly [lowest: number, highest: number];
}

/** Of one run. */
export class OwedAnswers {
  private readonly writes = new PendingWrites();
  private owed: readonly { readonly answer: Answer; readonly behind: Write }[] = [];
  /** By slot, its newest vote. */
  private readonly voted = new Map<number, Pick<Answer, 'ballot' | 'commitPoint'>>();

  /** Why an event does not send what it must, or sends what must wait; null: it is as it must be. */
  take(event: ConsensusEvent, previous: ConsensusEvent | undefined): string | null {
    if (event.name === 'Fsync') return this.flush(event);
    this.writes.write(event, previous);
    const reason = this.owe(event);
    this.writes.learn(event, previous);
    return reason;
  }

  private owe(event: ConsensusEvent): string | null {
    const answer = answerOf(event);
    if (answer === null) return null;
    if (answer.kind === 'vote') for (const [slot] of event.votes ?? []) this.voted.set(slot, answer);
    const behind = this.writes.last();
    const isSent = (event.sent ?? []).some((sent) => isAnswer(sent, answer));
    if (isSent && behind !== null && behind.kind !== 'configuration')
      return `${answer.to} gets an answer that must wait for the disk`;
    if (isSent || behind?.kind === 'configuration') return null;
    if (behind === null) return `${answer.to} gets no answer, and nothing holds it back`;
    this.owed = [...this.owed, { answer, behind }];
    return null;
  }

  private flush(event: ConsensusEvent): string | null {
    if (!this.writes.flush(event)) return 'it flushes what was not written';
    const due = this.owed.filter(({ behind }) => isDurable(behind, event));
    this.owed = this.owed.filter((one) => !due.includes(one));
    const left = [...(event.sent ?? [])];
    for (const { answer } of due) {
      const index = left.findIndex((sent) => isAnswer(sent, answer));
      if (index === -1) return `${answer.to} does not get the answer that waited for this flush`;
      left.splice(index, 1);
    }
    const early = left.find((sent) => this.isBeforeVote(sent));
    return early === undefined ? null : `${early.to} is told of a vote from before it was given`;
  }

  private isBeforeVote({ message }: Sent): boolean {
    if (message.kind !== 'Accepted') return false;
    const { ballot, commitPoint = 0, lastSlot = 0 } = message;
    const vote = this.voted.get(lastSlot);
    return vote !== undefined && sameBallot(vote.ballot, ballot) && commitPoint < vote.commitPoint;
  }
}

/** What an event answers as soon as all is durable; null: nothing, or at once whatever is not durable. */
function answerOf({ name, message, from, votes = [], state }: ConsensusEvent): Answer | null {
  if (message === undefined || from === undefined) return null;
  const { ballot, firstSlot: first = 0, labels = [] } = message;
  const last = votes.at(-1);
  const isVote = name === 'HandleAccept' && last !== undefined;
  const commitPoint = isVote ? Math.min(state.commitPoint, votes[0]![0] - 1) : state.commitPoint;
  const common = { to: from, ballot, commitPoint, firstSlot: Math.max(first, commitPoint + 1) };
  if (name === 'HandlePrepare') return { ...common, kind: 'promise', lastSlots: [0, 0] };
  if (isVote) return { ...common, kind: 'vote', lastSlots: [last[0], first + labels.length - 1] };
  const isHeard = message.kind === 'Heartbeat' && compareBallots(state.durablePromised, ballot) >= 0;
  if (isHeard || (name !== 'HandleAccept' && name !== 'HandleHeartbeat')) return null;
  return { ...common, kind: 'acknowledgement', lastSlots: [0, Infinity] };
}

function isAnswer({ to, message }: Sent, answer: Answer): boolean {
  if (to !== answer.to || !sameBallot(message.ballot, answer.ballot)) return false;
  if (answer.kind === 'promise') return message.kind === 'Promise';
  if (message.commitPoint !== answer.commitPoint) return false;
  if (message.kind === 'HeartbeatAck') return answer.kind === 'acknowledgement';
  const [lowest, highest] = answer.lastSlots;
  const { firstSlot, lastSlot = 0 } = message;
  const isRun = firstSlot === answer.firstSlot && lastSlot >= lowest && lastSlot <= highest;
  return message.kind === 'Accepted' && isRun;
}
