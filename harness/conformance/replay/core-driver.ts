/**
 * One replica's real core, led by the actions of a behaviour: each becomes the input that means it.
 *
 * Responsible for: the inputs that are no messages, and for what surrounds the core. Time is made up so that no timer but the one that is wanted ever runs
 * out; leases are switched off (the spec has none).
 */
import { createState, step, type State } from '../../../server/src/multipaxos/step.ts';
import type { CoreConfig, Effect, Input } from '../../../server/src/multipaxos/types/effects.ts';
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Member } from '../../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import { createDisk } from './core-disk.ts';
import { messageFor, saidBy, type Said } from './core-inputs.ts';
import { coreView, downView } from './core-view.ts';
import { changeTo } from './replay-members.ts';
import { asNumber, replayGroup, type ReplicaView, type SpecAction } from './spec-view.ts';

type InputWithoutTime = Input extends infer Each ? (Each extends Input ? Omit<Each, 'nowMs'> : never) : never;

export interface Outcome {
  readonly events: readonly CoreTraceEvent[];
  readonly sent: readonly Message[];
}

export interface CoreDriver {
  /** Takes the core through one action of the spec. */
  take(action: SpecAction): Outcome;
  view(): ReplicaView;
}

const timeoutMs = 1000;
const noSlot = 0 as Slot;
const nothing: Outcome = { events: [], sent: [] };

function configOf(id: ReplicaId, changed: Partial<CoreConfig>): CoreConfig {
  return {
    group: replayGroup,
    id,
    heartbeatMs: 100,
    electionTimeoutMinMs: timeoutMs,
    electionTimeoutMaxMs: timeoutMs,
    leaseMs: 0,
    clockDriftMax: 0,
    retransmitMs: 1e9,
    // WindowSlots of both models.
    windowSlotsMax: 2,
    windowBytesMax: 1e9,
    acceptBatchBytesMax: 1e9,
    catchUpSlotsMax: 1000,
    trace: 'all',
    ...changed,
  };
}

export function createDriver(id: ReplicaId, changed: Partial<CoreConfig> = {}): CoreDriver {
  const config = configOf(id, changed);
  const disk = createDisk();
  let waiting: Extract<Effect, { kind: 'persist' }>[] = [];
  let isDown = false;
  let nowMs = 0;
  let state: State = createState(config, disk.recovered(), nowMs, 0);

  const give = (input: InputWithoutTime): Outcome => {
    const result = step(state, { ...input, nowMs });
    state = result.state;
    for (const effect of result.effects) if (effect.kind === 'persist') waiting.push(effect);
    return {
      events: result.effects.flatMap((effect) => (effect.kind === 'trace' ? [effect.event] : [])),
      sent: result.effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message] : [])),
    };
  };
  const receive = (from: ReplicaId, message: Message): Outcome => give({ kind: 'Receive', from, message });
  const anyPeer = (): ReplicaId => state.roster.peers[0] as ReplicaId;
  const applied = (slot: Slot): Outcome => give({ kind: 'Applied', slot, durableSlot: noSlot });

  /** The round is free in the spec, and the core's choice: it is told of a higher one. The voters would all grant its election. */
  const elect = (ballot: Ballot): Outcome => {
    state.highestRound = ballot.round - 1;
    nowMs += 2 * timeoutMs;
    const asked = give({ kind: 'Tick', random: 0 });
    const { configuration, roster } = state;
    const common = { group: replayGroup, ballot, configuration };
    const replies = roster.voters
      .filter((member) => member !== id)
      .map((from) =>
        state.preVote === null ? nothing : receive(from, { kind: 'PreVoteReply', ...common, granted: true }),
      );
    return merge([asked, ...replies]);
  };

  /** The others have just been heard, but for a life that is to be replaced: that one has been silent for long. */
  const reconfigure = (members: readonly Member[]): Outcome => {
    const change = changeTo(state.configuration, members);
    nowMs += 2 * timeoutMs;
    const common = { group: replayGroup, ballot: state.promised, sentAtMs: nowMs };
    const heard = state.roster.peers
      .filter((peer) => change.kind !== 'join' || peer !== change.replica)
      .map((peer) =>
        receive(peer, {
          kind: 'HeartbeatAck',
          ...common,
          commitPoint: noSlot,
          durableApplicationPointer: noSlot,
        }),
      );
    return merge([...heard, give({ kind: 'Reconfigure', id: 1, change })]);
  };

  /** The database comes up, perhaps as a copy. Where the log holds something in every slot, the base moves once it is known that nobody has the log. */
  const restore = ({ commitPoint, configuration, entries }: Said): Outcome => {
    disk.copied(entries);
    const lacking = Array.from(
      { length: commitPoint - state.commitPoint },
      (_, i) => (commitPoint - i) as Slot,
    ).filter((slot) => !state.log.has(slot));
    const up = give({ kind: 'Restored', slot: commitPoint, configuration });
    if (lacking.length > 0) return up;
    const purged = receive(anyPeer(), {
      kind: 'CatchUpReply',
      group: replayGroup,
      ballot: state.promised,
      firstSlot: (state.commitPoint + 1) as Slot,
      entries: [],
      commitPoint,
      purgedTo: commitPoint,
      configuration: state.configuration,
    });
    return merge([up, purged]);
  };

  /** The first `count` records that wait, without the hints that the spec does not count. */
  const flush = (count: number): Outcome => {
    let rest = count;
    let seq = 0;
    while (rest > 0) {
      const group = waiting.shift();
      if (group === undefined) break;
      seq = group.seq;
      for (const record of group.records) if (disk.write(record)) rest--;
    }
    return give({ kind: 'Persisted', seq });
  };

  const crash = ({ commitPoint, configuration }: Said): Outcome => {
    isDown = true;
    waiting = [];
    disk.crash(commitPoint, configuration);
    return nothing;
  };
  const restart = (): Outcome => {
    isDown = false;
    state = createState(config, disk.recovered(), nowMs, 0);
    return applied(noSlot);
  };

  const take = (action: SpecAction): Outcome => {
    const said = saidBy(action, state);
    const message = messageFor(action, said);
    if (message !== null) return receive(said.from ?? anyPeer(), message);
    switch (action.name) {
      case 'StartElection':
        return elect(said.ballot);
      case 'Propose':
        return give({ kind: 'Propose', proposals: said.entries.flatMap(proposalsIn) });
      case 'Reconfigure':
        return reconfigure(said.entries.flatMap(membersIn));
      case 'Restored':
        return restore(said);
      case 'StepDown':
        return give({ kind: 'StepDown', reason: 'requested' });
      case 'Serve':
        return applied(state.commitPoint);
      case 'Fsync':
        return flush(asNumber(action.params.records));
      case 'Crash':
        return crash(said);
      case 'Restart':
        return restart();
      default:
        throw new Error(`the spec has an action ${action.name} that has no input`);
    }
  };

  const view = (): ReplicaView => {
    if (isDown) return { ...downView, ...disk.durable(), ...disk.left() };
    const records = waiting.flatMap((effect) => effect.records);
    return { ...coreView(state, records), ...disk.durable() };
  };
  // The first step of a life tells of its Restart; the spec's replicas begin alive.
  applied(noSlot);
  return { take, view };
}

const proposalsIn = (entry: Entry): Extract<Input, { kind: 'Propose' }>['proposals'][number][] =>
  entry.kind === 'command' ? [{ proposal: entry.proposal, payload: entry.payload }] : [];
const membersIn = (entry: Entry): readonly Member[] => (entry.kind === 'configuration' ? entry.members : []);

function merge(outcomes: readonly Outcome[]): Outcome {
  return { events: outcomes.flatMap(({ events }) => events), sent: outcomes.flatMap(({ sent }) => sent) };
}
