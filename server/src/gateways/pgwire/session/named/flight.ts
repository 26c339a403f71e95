/** What has been sent to PostgreSQL and is answered with one ReadyForQuery: a request of the client, or one of the gateway's own. */
import type { ErrorFields } from '../../../../pgwire/backend-messages.ts';
import type { TransactionStatus } from '../../../../pgwire/message-types.ts';

export interface OwnResult {
  readonly status: TransactionStatus;
  /** The first column of the first row. */
  readonly row: string | null;
  readonly error: ErrorFields | null;
}

/** Nothing of its answer is for the client. */
export interface OwnFlight {
  readonly kind: 'own';
  row: string | null;
  error: ErrorFields | null;
  readonly done: (result: OwnResult) => void;
}

/**
 * What the client gets of the answer. `pass`: all. `part`: all but ReadyForQuery. `hold`: the same, and CommandComplete waits, too. `commitBefore`: success is told, whatever COMMIT
 * says, with a notice; ReadyForQuery waits. `swallow`: nothing.
 */
export type ClientMode = 'pass' | 'part' | 'hold' | 'commitBefore' | 'swallow';

export interface ClientFlight {
  readonly kind: 'client';
  mode: ClientMode;
  readonly extended: boolean;
  /** The last CommandComplete, where it waits. */
  completion: Buffer | null;
  completions: number;
  /** Rows, or COPY data, are part of the answer. */
  tellsData: boolean;
  failed: boolean;
  /** It is not run, since its name is taken, and its success is told with this tag, if it can be told; else ''. */
  tagBefore: string;
  /** ParseComplete and BindComplete. */
  parsed: number;
  bound: number;
  /** `taking`: PostgreSQL takes COPY data. `ended`: the client has sent all of it, or PostgreSQL takes no more. */
  copy: 'none' | 'taking' | 'ended';
  /** How often the client has ended its data before PostgreSQL has said that it takes them. */
  dataEnds: number;
  /** Syncs of the client that PostgreSQL has ignored, if it took COPY data when it read them. */
  copySyncs: number;
  /** As far as is known it is a Sync alone: then nothing is said before its ReadyForQuery. */
  isBare: boolean;
  /** Called ahead of `done`. */
  answered: () => void;
  readonly done: (status: TransactionStatus) => void;
}

export type Flight = OwnFlight | ClientFlight;

export function ownFlight(done: (result: OwnResult) => void): OwnFlight {
  return { kind: 'own', row: null, error: null, done };
}

/** `extended`: it ends with a Sync, which PostgreSQL ignores while it takes COPY data. */
export function clientFlight(
  mode: ClientMode,
  extended: boolean,
  done: (status: TransactionStatus) => void,
): ClientFlight {
  return {
    kind: 'client',
    mode,
    extended,
    completion: null,
    completions: 0,
    tellsData: false,
    failed: false,
    tagBefore: '',
    parsed: 0,
    bound: 0,
    copy: 'none',
    dataEnds: 0,
    copySyncs: 0,
    isBare: false,
    answered: () => {},
    done,
  };
}
