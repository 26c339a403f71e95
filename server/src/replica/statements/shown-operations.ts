/**
 * What the slots of a log hold where statements travel, for people.
 *
 * Responsible for: how much of a session's name is told, whose client it is, and the text of its statements. Pure.
 * Invariant: of a session's name, which lets whoever knows it act in it, only some digits are told.
 */
import type { OperationalEvent } from '../../api/events.ts';
import type { ShownSession, SlotContent } from '../../api/wal-summary.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import {
  decodeOperation,
  type Operation,
  OperationError,
  wordOf,
} from '../../payload/statements/operation.ts';
import { messagesOf } from '../../payload/statements/request-plan.ts';
import { slotContent } from '../../payload/wal/summary/slot-content.ts';
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import { stringEnd } from '../../pgwire/frontend-messages.ts';
import { front } from '../../pgwire/message-types.ts';
import { ownPrefix } from './session-sweep.ts';

const toldDigits = 6;
const sqlBytesMax = 2000;
const statementsMax = 20;

export interface ShownOperationsOptions {
  /** The members, by whose names those of sessions begin. */
  readonly replicas: readonly ReplicaId[];
  /** The text of statements is told. */
  readonly tellsSql: boolean;
}

export class ShownOperations {
  private readonly replicas: ReadonlyMap<string, ReplicaId>;
  private readonly tellsSql: boolean;

  constructor({ replicas, tellsSql }: ShownOperationsOptions) {
    this.replicas = new Map(replicas.map((replica) => [ownPrefix(replica), replica]));
    this.tellsSql = tellsSql;
  }

  contentOf(entry: Entry): SlotContent {
    if (entry.kind !== 'command') return slotContent(entry);
    const operation = operationOf(entry.payload);
    if (operation instanceof OperationError) return { kind: 'unreadable', reason: operation.message };
    const isOpen = operation.kind === 'open';
    const isRequest = operation.kind === 'request';
    return {
      kind: 'operation',
      what: wordOf(operation),
      session: this.sessionOf(operation),
      proposer: proposerOf(entry.proposal.client),
      request: isRequest ? operation.seq : null,
      level: isRequest ? (operation.level ?? null) : null,
      user: isOpen ? operation.user : null,
      database: isOpen ? operation.database : null,
      sql: !this.tellsSql ? null : isRequest ? sqlOf(operation.bytes) : [],
      bytes: entry.payload.byteLength,
    };
  }

  eventOf({ slot, entry }: SlotEntry): Extract<OperationalEvent, { name: 'SlotChosen' }> {
    const operation = entry.kind === 'command' ? operationOf(entry.payload) : null;
    const isNone = operation === null || operation instanceof OperationError;
    return {
      name: 'SlotChosen',
      slot,
      label: entryLabel(entry),
      what: isNone ? null : wordOf(operation),
      session: isNone ? null : this.sessionOf(operation),
    };
  }

  private sessionOf(operation: Operation): ShownSession | null {
    if (!('session' in operation) || operation.session === null) return null;
    const { session } = operation;
    const begin = ownPrefix('' as ReplicaId).length;
    return {
      name: session.slice(begin, begin + toldDigits),
      at: this.replicas.get(session.slice(0, begin)) ?? null,
    };
  }
}

/** Clients of proposals are named after the replica's incarnation, and its life. Names of replicas hold no dot. */
function proposerOf(client: string): ReplicaId {
  return client.split('.', 1)[0] as ReplicaId;
}

function operationOf(payload: Uint8Array): Operation | OperationError {
  try {
    return decodeOperation(payload);
  } catch (error) {
    if (error instanceof OperationError) return error;
    throw error;
  }
}

/** The text of each Query and Parse. */
function sqlOf(bytes: Uint8Array): readonly string[] {
  const texts: string[] = [];
  for (const message of messagesOf(bytes) ?? []) {
    const isParse = message[0] === front.parse;
    if (!isParse && message[0] !== front.query) continue;
    const from = isParse ? stringEnd(message, headerBytes, message.length) + 1 : headerBytes;
    const text = message.subarray(from, stringEnd(message, from, message.length)).toString('utf8');
    texts.push(text.length > sqlBytesMax ? `${text.slice(0, sqlBytesMax)}…` : text);
    if (texts.length === statementsMax) break;
  }
  return texts;
}
