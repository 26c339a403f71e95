/** What a core knows, in the words in which it is compared with the spec. Pure. */
import { cloneState, step, type State } from '../../../server/src/multipaxos/step.ts';
import type { LogRecord } from '../../../server/src/multipaxos/types/records.ts';
import { entryLabel } from '../../../server/src/multipaxos/entry.ts';
import { noBallot } from '../trace/spec-message.ts';
import type { SpecRecord } from '../trace/spec-state.ts';
import { specConfiguration, type ReplicaView } from './spec-view.ts';

/** All but what its disk holds. */
export function coreView(
  state: State,
  records: readonly LogRecord[],
): Omit<ReplicaView, 'durablePromised' | 'durableLog'> {
  const { leadership } = state;
  return {
    role: state.role,
    promised: state.promised,
    commitPoint: state.commitPoint,
    serving: leadership?.serving === true,
    log: Object.fromEntries([...state.log].map(([slot, { ballot, label }]) => [slot, { ballot, label }])),
    buffered: records.filter((record) => specRecord(record) !== null).length,
    configuration: specConfiguration(state.configuration),
    startSlot: leadership?.startSlot ?? 0,
    backlog: (leadership?.backlog ?? []).map(
      (entry, i) => `${leadership!.nextSlot + i} ${entryLabel(entry)}`,
    ),
    room: roomOf(state),
    counted: countedBy(state),
  };
}

/** Null for hints, and for what the spec keeps apart from the records. */
export function specRecord(record: LogRecord): SpecRecord | null {
  if (record.kind === 'promise') return { kind: 'promise', slot: 0, ballot: record.ballot, label: '' };
  if (record.kind === 'base') return { kind: 'base', slot: record.slot, ballot: null, label: '' };
  if (record.kind === 'commitPoint' || record.kind === 'configuration' || record.kind === 'slotPromise')
    return null;
  const ballot = record.kind === 'vote' ? record.ballot : null;
  return { kind: record.kind, slot: record.slot, ballot, label: entryLabel(record.entry) };
}

/** How many commands it would take now, of twice as many as fit a window. */
function roomOf(state: State): number {
  const { nowMs, leadership, config } = state;
  if (leadership === null) return 0;
  const proposals = Array.from({ length: 2 * config.windowSlotsMax }, (_, request) => ({
    proposal: { client: 'nobody', request },
    payload: new Uint8Array(1),
  }));
  const { effects } = step(cloneState(state), { kind: 'Propose', nowMs, proposals });
  return effects.filter(({ kind }) => kind === 'proposed').length;
}

function countedBy({ candidacy, leadership, log, commitPoint, roster, config }: State): string[] {
  const counted: string[] = [...(candidacy?.promises ?? [])].filter((member) => member !== config.id);
  if (leadership === null) return counted.sort();
  for (const [member, bit] of roster.bits) {
    if (member === config.id) continue;
    for (const held of log.values()) {
      const isOpen = held.slot > commitPoint && held.ballot === leadership.ballot;
      if (isOpen && (held.votes & bit) !== 0) counted.push(`${held.slot} ${member}`);
    }
  }
  return counted.sort();
}

/** What is known of a replica that is down, beside its disk. */
export const downView = {
  role: 'down',
  promised: noBallot,
  serving: false,
  log: {},
  buffered: 0,
  startSlot: 0,
  backlog: [],
  room: 0,
  counted: [],
} as const;
