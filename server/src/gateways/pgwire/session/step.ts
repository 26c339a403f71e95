/** One message to PostgreSQL whose answer has a known end, and what is to become of that answer. */
import type { ErrorFields } from '../codec/backend-messages.ts';
import type { TransactionStatus } from '../codec/message-types.ts';
import * as send from '../codec/frontend-messages.ts';
import { createLru } from '../sql/lru.ts';

export type StepKind = 'query' | 'parse' | 'bind' | 'describe' | 'execute' | 'close' | 'sync';

export interface Step {
  readonly kind: StepKind;
  readonly bytes: Buffer;
  /** Injected: its answer does not reach the client. */
  readonly own: boolean;
  /** Injected, yet what it says is for the client: notices, and the whole of an error. */
  readonly speaks?: boolean;
  readonly onComplete?: (tag: string | null) => void;
  readonly onRow?: (row: Buffer) => void;
  /** Its error is the client's, and is dealt with as that of a client's step. */
  readonly tells?: boolean;
  /** Asks whether the transaction's name is taken. */
  readonly asksRequest?: boolean;
  /** NoData is not for the client, who did not ask for a description. */
  readonly dropNoData?: boolean;
  /** A warning that only our wrapper causes. */
  readonly dropNotice?: string;
  /** Characters by which the statement is off the beginning of the client's text. */
  readonly positionShift?: number;
}

export interface StepError {
  readonly step: Step;
  readonly fields: ErrorFields;
}

export interface FlightResult {
  /** What ReadyForQuery said; null if the flight had none. */
  readonly status: TransactionStatus | null;
  readonly error: StepError | null;
}

/** The one prepared statement of the gateway where the client's unnamed one must live on. */
export const ownStatement = 'barista:injected';

/**
 * An injected command. Parsed anew each time: a client could replace a statement that we had prepared before.
 * `keepUnnamed`: leaves the client's unnamed statement alone (its unnamed portal is lost in any case).
 */
export const ownCommand = (
  sql: string,
  options: {
    readonly keepUnnamed: boolean;
    readonly parameters?: readonly string[];
    readonly onRow?: (row: Buffer) => void;
    readonly onComplete?: (tag: string | null) => void;
    readonly speaks?: boolean;
    /** Its answer is the client's: only the answers to Parse and Bind are not. */
    readonly answersClient?: boolean;
  },
): Step[] => {
  const own = encoded(sql, options.keepUnnamed, options.onRow !== undefined);
  const bindBytes =
    options.parameters === undefined
      ? own.bind
      : send.bind({
          portal: '',
          statement: own.name,
          parameters: options.parameters,
          binaryResult: options.onRow !== undefined,
        });
  const speaks = options.speaks === true ? { speaks: true } : {};
  return [
    ...(options.keepUnnamed ? [closeOwn] : []),
    { kind: 'parse', own: true, ...speaks, bytes: own.parse },
    { kind: 'bind', own: true, ...speaks, bytes: bindBytes },
    {
      kind: 'execute',
      own: options.answersClient !== true,
      ...speaks,
      bytes: executeOwn,
      ...(options.onRow === undefined ? {} : { onRow: options.onRow }),
      ...(options.onComplete === undefined ? {} : { onComplete: options.onComplete }),
    },
  ];
};

const closeOwn: Step = { kind: 'close', own: true, bytes: send.closeStatement(ownStatement) };
const executeOwn = send.execute('');

interface Encoded {
  readonly name: string;
  readonly parse: Buffer;
  readonly bind: Buffer;
}

/** The same few commands are sent over and over. */
const encodings = createLru<Encoded>(256);

const encoded = (sql: string, keepUnnamed: boolean, binaryResult: boolean): Encoded => {
  const key = `${keepUnnamed ? 'n' : 'u'}${binaryResult ? 'b' : 't'}${sql}`;
  const known = encodings.get(key);
  if (known !== undefined) return known;
  const name = keepUnnamed ? ownStatement : '';
  const fresh = {
    name,
    parse: send.parse(name, sql),
    bind: send.bind({ portal: '', statement: name, binaryResult }),
  };
  encodings.set(key, fresh, 1);
  return fresh;
};

export const ownSync: Step = { kind: 'sync', own: true, bytes: send.sync };
