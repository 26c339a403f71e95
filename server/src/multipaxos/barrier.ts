/**
 * What a leader appends to the log, and the barrier around a configuration.
 *
 * Responsible for: voting for its own entries and sending them, in stages if there is a configuration among them. A configuration travels
 * alone: it is proposed when everything below it is chosen, and nothing is proposed above it until it is chosen itself.
 *
 * Why, for any slot s that a leader of ballot b proposes in:
 * - What is chosen below s includes every configuration that b has proposed or inherited below s. So b knows who decides s, namely
 *   the newest configuration that it knows to be chosen, and that no other change is half-way below s. Entries that it found above an
 *   inherited configuration, its own `leaderStart` and new proposals all wait: were they sent at once, a successor that does not
 *   find the configuration would decide their slots by another majority.
 * - Two proposed configurations, in slots c < d, are never both open: whoever proposed the one in d knew what is chosen in c, and so
 *   does the majority that a successor asks.
 * - An acceptor votes for a configuration only when its own commit point, which is recorded with the vote, has come up to it
 *   (follower.ts). So the majority that chose a configuration in slot c holds everything below c as chosen: a candidate that knows
 *   the configuration meets one of them, and begins at c or above (election.ts).
 * - A leader that hears from others that its own configuration is chosen has been deposed in between, and does not go on above it
 *   (catch-up.ts).
 */
import { entryBytes } from './entry.ts';
import { violated } from './invariants.ts';
import { putSlot } from './log.ts';
import { tellConfiguration } from './membership.ts';
import { renewRoster } from './roster.ts';
import { broadcast, persist, recordCommitPoint, type Run } from './run.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Entry } from './types/entries.ts';
import type { Accept } from './types/messages.ts';
import type { ReplicaId, Slot } from './types/names.ts';
import type { LogRecord } from './types/records.ts';

/** True while nothing new may be proposed: a change waits its turn, or is not chosen yet. */
export function isBarred(leadership: Leadership): boolean {
  return leadership.pending !== null || leadership.wanted !== null || leadership.backlog.length > 0;
}

/** What waits, as far as the barrier allows. */
export function proposeWaiting(run: Run): void {
  const { leadership } = run.state;
  if (leadership === null) return;
  if (leadership.backlog.length > 0) {
    const stage = proposeBacklog(run, leadership);
    if (stage !== null) traceAction(run, stage);
    return;
  }
  if (leadership.wanted === null || !isWindowEmpty(run.state, leadership)) return;
  const { group } = run.state.config;
  const version = run.state.configuration.version + 1;
  const members = leadership.wanted;
  leadership.wanted = null;
  appendOwn(run, [{ kind: 'configuration', group, ballot: leadership.ballot, version, members }]);
  traceAction(run, 'Reconfigure');
}

/** The next stage of what was inherited: a configuration alone, or everything up to the next one. */
export function proposeBacklog(run: Run, leadership: Leadership): 'Propose' | 'Reconfigure' | null {
  const { backlog } = leadership;
  const first = backlog[0];
  if (first === undefined || leadership.pending !== null) return null;
  if (first.kind === 'configuration') {
    if (!isWindowEmpty(run.state, leadership)) return null;
    appendOwn(run, backlog.splice(0, 1));
    return 'Reconfigure';
  }
  const next = backlog.findIndex(({ kind }) => kind === 'configuration');
  appendOwn(run, backlog.splice(0, next === -1 ? backlog.length : next));
  return 'Propose';
}

function isWindowEmpty({ commitPoint }: State, { nextSlot }: Leadership): boolean {
  return commitPoint === nextSlot - 1;
}

/** Votes for its own proposals and sends them: one record group, and Accepts of bounded size to every peer. */
export function appendOwn(run: Run, entries: readonly Entry[]): void {
  const { state } = run;
  const leadership = state.leadership!;
  const { ballot, nextSlot: firstSlot } = leadership;
  const records: LogRecord[] = [];
  for (const [index, entry] of entries.entries()) {
    const slot = (firstSlot + index) as Slot;
    if (entry.kind === 'configuration') raiseBarrier(run, leadership, entry, records);
    const held = putSlot(state, { slot, entry, ballot, seq: state.nextSeq });
    if (entry.kind === 'command') leadership.proposals.add(held.label);
    records.push({ kind: 'vote', slot, ballot, entry });
  }
  const lastSlot = (firstSlot + entries.length - 1) as Slot;
  leadership.nextSlot = (lastSlot + 1) as Slot;
  persist(run, records, { kind: 'ownVotes', ballot, firstSlot, lastSlot });
  for (const message of acceptsOf(state, firstSlot, entries)) broadcast(run, message);
  leadership.announcedCommitPoint = state.commitPoint;
}

/** The record of the commit point goes before that of the vote: whoever has voted for a configuration remembers that all below is chosen. */
function raiseBarrier(
  run: Run,
  leadership: Leadership,
  entry: Entry & { kind: 'configuration' },
  records: LogRecord[],
): void {
  const { state } = run;
  const { configuration, commitPoint } = state;
  const slot = leadership.nextSlot;
  if (commitPoint !== slot - 1 || leadership.pending !== null)
    violated('OneChangeAtATime', `version ${entry.version} in slot ${slot}, commit point ${commitPoint}`);
  const isNext = entry.version === configuration.version + 1 && slot > configuration.slot;
  const isKnown = entry.version === configuration.version && slot === configuration.slot;
  if (!isNext && !isKnown)
    violated(
      'ConfigurationsFormAChain',
      `version ${entry.version} after ${configuration.version} in ${slot}`,
    );
  leadership.pending = { slot, version: entry.version, members: entry.members };
  renewPeers(state, leadership);
  tellConfiguration(run);
  recordCommitPoint(state, records);
}

/** Follows the roster; what is known of peers that stay is kept. */
export function renewPeers(state: State, leadership: Leadership): void {
  renewRoster(state);
  const { peers, bits, voterMask } = state.roster;
  const before = leadership.peers;
  leadership.peers = peers.map((id) => {
    const bit = bits.get(id)!;
    const known = before.find((peer) => peer.id === id);
    if (known === undefined) return newPeer(state, id, bit);
    known.bit = bit;
    return known;
  });
  leadership.voters = leadership.peers.filter(({ bit }) => (bit & voterMask) !== 0);
}

function newPeer(state: State, id: ReplicaId, bit: number): PeerProgress {
  return {
    id,
    bit,
    ackedSentAtMs: Number.NEGATIVE_INFINITY,
    commitPoint: 0 as Slot,
    durableApplicationPointer: null,
    pointerSentAtMs: Number.NEGATIVE_INFINITY,
    retransmittedAtMs: state.nowMs,
    sinceMs: state.nowMs,
  };
}

/** Cuts consecutive entries into Accepts of at most `acceptBatchBytesMax`, at least one entry each. */
function acceptsOf(state: State, firstSlot: Slot, entries: readonly Entry[]): Accept[] {
  const accepts: Accept[] = [];
  let from = 0;
  while (from < entries.length) {
    let to = from + 1;
    let bytes = entryBytes(entries[from]!);
    while (to < entries.length) {
      bytes += entryBytes(entries[to]!);
      if (bytes > state.config.acceptBatchBytesMax) break;
      to += 1;
    }
    accepts.push(acceptOf(state, (firstSlot + from) as Slot, entries.slice(from, to)));
    from = to;
  }
  return accepts;
}

export function acceptOf(state: State, firstSlot: Slot, entries: readonly Entry[]): Accept {
  return {
    kind: 'Accept',
    group: state.config.group,
    ballot: state.promised,
    firstSlot,
    entries,
    commitPoint: state.commitPoint,
    sentAtMs: state.nowMs,
  };
}
