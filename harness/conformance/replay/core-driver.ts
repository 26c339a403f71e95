/**
 * One replica's real core, led by the actions of a behaviour: each becomes the input that means it.
 *
 * Responsible for: the inputs, a disk that keeps what was reported as persisted, and a view of the core for comparison. Time is
 * made up so that no timer but the one that is wanted ever runs out; leases are switched off (the spec has none).
 */
import { createState, step, type State } from '../../../server/src/multipaxos/step.ts';
import type { CoreConfig, Effect, Input } from '../../../server/src/multipaxos/types/effects.ts';
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import { entryLabel } from '../../../server/src/multipaxos/entry.ts';
import { noBallot, type Held } from '../trace/spec-message.ts';
import { writeDurably } from '../trace/apply-step.ts';
import type { SpecRecord } from '../trace/spec-state.ts';
import {
  asNumber,
  asSequence,
  ballotOf,
  entryOf,
  replayGroup,
  replicaName,
  votesOf,
  type ReplicaView,
  type SpecAction,
} from './spec-view.ts';

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

function founding(members: readonly ReplicaId[]): Configuration {
  const address = { host: '', port: 1, pgwire: { host: '', port: 1 } };
  return {
    version: 1,
    slot: 0 as Slot,
    members: members.map((replica) => ({ replica, incarnation: 1, role: 'voter', nonce: '', address })),
  };
}

function configOf(id: ReplicaId): CoreConfig {
  return {
    group: replayGroup,
    id,
    heartbeatMs: 100,
    electionTimeoutMinMs: timeoutMs,
    electionTimeoutMaxMs: timeoutMs,
    leaseMs: 0,
    clockDriftMax: 0,
    retransmitMs: 1e9,
    windowSlotsMax: 1000,
    windowBytesMax: 1e9,
    acceptBatchBytesMax: 1e9,
    catchUpSlotsMax: 1000,
    trace: 'all',
  };
}

export function createDriver(id: ReplicaId, members: readonly ReplicaId[]): CoreDriver {
  const config = configOf(id);
  const configuration = founding(members);
  const disk = { durablePromised: noBallot, durableLog: new Map<number, Held>() };
  const entries = new Map<string, Entry>();
  let waiting: Extract<Effect, { kind: 'persist' }>[] = [];
  let hint = 0;
  let isDown = false;
  let nowMs = 0;
  let state: State = createState(config, recovered(), nowMs, 0);

  function recovered(): RecoveredLog {
    const tail = [...disk.durableLog].filter(([slot]) => slot > hint).sort(([a], [b]) => a - b);
    return {
      promised: disk.durablePromised,
      commitPoint: hint as Slot,
      purgedTo: 0 as Slot,
      configuration,
      tail: tail.map(([slot, { ballot, label }]) => ({
        slot: slot as Slot,
        ballot,
        entry: entries.get(label) as Entry,
      })),
    };
  }

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

  /** The round is free in the spec, and the core's choice: it is told of a higher one. The peers would all grant its election. */
  const elect = (ballot: Ballot): Outcome => {
    state.highestRound = ballot.round - 1;
    nowMs += 2 * timeoutMs;
    const asked = give({ kind: 'Tick', random: 0 });
    const replies = members
      .filter((member) => member !== id)
      .map((from) => {
        if (state.preVote === null) return { events: [], sent: [] };
        return receive(from, {
          kind: 'PreVoteReply',
          group: replayGroup,
          ballot,
          granted: true,
          configuration,
        });
      });
    return merge([asked, ...replies]);
  };

  /** The first `count` records that wait, without the hints that the spec does not count. */
  const flush = (count: number): Outcome => {
    let rest = count;
    let seq = 0;
    while (rest > 0) {
      const group = waiting.shift();
      if (group === undefined) break;
      seq = group.seq;
      for (const record of group.records) {
        if (record.kind === 'vote' || record.kind === 'chosen')
          entries.set(entryLabel(record.entry), record.entry);
        const written = specRecord(record);
        if (written === null) continue;
        writeDurably(disk, written, { chosen: new Map() });
        rest--;
      }
    }
    return give({ kind: 'Persisted', seq });
  };

  const take = ({ name, params }: SpecAction): Outcome => {
    const from = params.from === undefined ? id : replicaName(params.from);
    const ballot = params.ballot === undefined ? state.promised : ballotOf(params.ballot);
    const commitPoint = (params.commitPoint === undefined ? 0 : asNumber(params.commitPoint)) as Slot;
    const firstSlot = (params.firstSlot === undefined ? 0 : asNumber(params.firstSlot)) as Slot;
    const lastSlot = (params.lastSlot === undefined ? 0 : asNumber(params.lastSlot)) as Slot;
    const content =
      params.entries === undefined ? [] : asSequence(params.entries).map((value) => entryOf(value) as Entry);
    const base = { group: replayGroup, ballot };
    switch (name) {
      case 'StartElection':
        return elect(ballot);
      case 'HandlePrepare':
        return receive(from, { kind: 'Prepare', ...base, commitPoint });
      case 'HandlePromise': {
        const votes = votesOf(params.votes).map(({ slot, ballot: voted, entry }) => ({
          slot: slot as Slot,
          ballot: voted,
          entry,
        }));
        return receive(from, { kind: 'Promise', ...base, commitPoint, configuration, votes });
      }
      case 'Propose': {
        const commands = content.flatMap((entry) => (entry.kind === 'command' ? [entry] : []));
        return give({
          kind: 'Propose',
          proposals: commands.map(({ proposal, payload }) => ({ proposal, payload })),
        });
      }
      case 'HandleAccept':
        return receive(from, {
          kind: 'Accept',
          ...base,
          firstSlot,
          entries: content,
          commitPoint,
          sentAtMs: 0,
        });
      case 'HandleAccepted':
        return receive(from, {
          kind: 'Accepted',
          ...base,
          firstSlot,
          lastSlot,
          commitPoint: 0 as Slot,
          sentAtMs: 0,
        });
      case 'HandleHeartbeat': {
        const globalApplicationPointer = 0 as Slot;
        return receive(from, {
          kind: 'Heartbeat',
          ...base,
          commitPoint,
          sentAtMs: 0,
          configuration,
          globalApplicationPointer,
        });
      }
      case 'HandleCatchUpReply': {
        const peer = members.find((member) => member !== id) as ReplicaId;
        const last = (firstSlot + content.length - 1) as Slot;
        const reply = { firstSlot, entries: content, commitPoint: last, purgedTo: 0 as Slot, configuration };
        return receive(peer, { kind: 'CatchUpReply', ...base, ...reply });
      }
      case 'HandleReject':
        return receive(from, { kind: 'Reject', ...base, promised: ballotOf(params.promised) });
      case 'StepDown':
        return give({ kind: 'StepDown', reason: 'requested' });
      case 'Serve':
        return give({ kind: 'Applied', slot: state.commitPoint, durableSlot: 0 as Slot });
      case 'Fsync':
        return flush(asNumber(params.records));
      case 'Crash':
        isDown = true;
        hint = commitPoint;
        waiting = [];
        return { events: [], sent: [] };
      case 'Restart':
        isDown = false;
        state = createState(config, recovered(), nowMs, 0);
        return give({ kind: 'Applied', slot: 0 as Slot, durableSlot: 0 as Slot });
      default:
        throw new Error(`the spec has an action ${name} that has no input`);
    }
  };

  const view = (): ReplicaView => {
    const durable = {
      durablePromised: disk.durablePromised,
      durableLog: Object.fromEntries(disk.durableLog),
    };
    if (isDown) {
      return {
        role: 'down',
        promised: noBallot,
        ...durable,
        commitPoint: hint,
        serving: false,
        log: {},
        buffered: 0,
        counted: [],
      };
    }
    const records = waiting.flatMap((effect) =>
      effect.records.filter((record) => specRecord(record) !== null),
    );
    return {
      role: state.role,
      promised: state.promised,
      ...durable,
      commitPoint: state.commitPoint,
      serving: state.leadership?.serving === true,
      log: Object.fromEntries([...state.log].map(([slot, { ballot, label }]) => [slot, { ballot, label }])),
      buffered: records.length,
      counted: countedBy(state),
    };
  };
  // The first step of a life tells of its Restart; the spec's replicas begin alive.
  give({ kind: 'Applied', slot: 0 as Slot, durableSlot: 0 as Slot });
  return { take, view };
}

function merge(outcomes: readonly Outcome[]): Outcome {
  return { events: outcomes.flatMap(({ events }) => events), sent: outcomes.flatMap(({ sent }) => sent) };
}

/** Null for hints, and for what the spec keeps apart from the records. */
function specRecord(record: LogRecord): SpecRecord | null {
  if (record.kind === 'promise') return { kind: 'promise', slot: 0, ballot: record.ballot, label: '' };
  if (record.kind === 'base') return { kind: 'base', slot: record.slot, ballot: null, label: '' };
  if (record.kind === 'commitPoint' || record.kind === 'configuration') return null;
  const ballot = record.kind === 'vote' ? record.ballot : null;
  return { kind: record.kind, slot: record.slot, ballot, label: entryLabel(record.entry) };
}

function countedBy(state: State): string[] {
  const others = [...state.roster.bits].filter(([member]) => member !== state.config.id);
  const counted: string[] = [];
  for (const [member, bit] of others) {
    if (state.candidacy?.promises.has(member) === true) counted.push(member);
    if (state.leadership === null) continue;
    for (const held of state.log.values()) {
      const isOpen = held.slot > state.commitPoint && held.ballot === state.leadership.ballot;
      if (isOpen && (held.votes & bit) !== 0) counted.push(`${held.slot} ${member}`);
    }
  }
  return counted.sort();
}
