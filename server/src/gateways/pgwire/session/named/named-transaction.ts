/**
 * What is run around a client's request so that its transaction takes effect once under its name.
 *
 * A request outside of a transaction block is wrapped in one: BEGIN and a look whether the name is taken go ahead of it, in the same flight; when it has been answered its name is claimed and it is
 * committed. In a block of the client's own the claim goes ahead of its COMMIT. So a named transaction takes one more round trip at most.
 * Invariants: nothing is committed under a name that is taken; success is told only in the words of the first time, and where these are not kept the client is told that it is done (RQ001).
 */
import {
  commandComplete,
  commandTag,
  type ErrorFields,
  errorFromFields,
  errorResponse,
  notice,
} from '../../../../pgwire/backend-messages.ts';
import { sync } from '../../../../pgwire/frontend-messages.ts';
import type { StatementKind } from '../../../../pgwire/statement-kinds.ts';
import type { TransactionStatus } from '../../../../pgwire/message-types.ts';
import * as errors from '../../errors.ts';
import { type ClientFlight, clientFlight, ownFlight, type OwnResult } from './flight.ts';
import type { NamedWire } from './named-wire.ts';
import * as own from './own-statements.ts';
import { isSame, readRecord } from './request-digest.ts';
import { readRequestRow, type RequestRow } from './request-row.ts';

/** `invalid_schema_name`, `undefined_function`. */
const missingStates: ReadonlySet<string> = new Set(['3F000', '42883']);

/** A request outside of a block of the client's. */
export interface Wrapped {
  /** Of the extended protocol. */
  readonly extended: boolean;
  /** It does more than set, show or ask, as far as its first statement tells: what does not leaves the name for the next one, also where that is taken. */
  readonly acts: boolean;
  /** Messages of it that prepare statements or close them, once all of it has been sent. */
  readonly prepares?: () => readonly Buffer[];
}

/** The frames with which PostgreSQL would have answered a request that it was not given, by the tag of its success; null if that cannot be told. */
export type Replies = (tag: string) => readonly Buffer[] | null;

export class NamedTransaction {
  private readonly wire: NamedWire;

  constructor(wire: NamedWire) {
    this.wire = wire;
  }

  /** To be called before the messages of the request are sent. Returns its flight. */
  wrap(replies: Replies, { extended, acts, prepares = () => [] }: Wrapped): ClientFlight {
    const { answers, send } = this.wire;
    let refused: ErrorFields | null = null;
    let before = '';
    const client: ClientFlight = clientFlight('hold', extended, (status) =>
      this.wrappedAnswered({ client, replies, prepares, refused, before, status }),
    );
    answers.expect(
      ownFlight(({ row, error }) => {
        refused = error;
        if (error !== null) {
          client.mode = 'swallow';
          if (isRepetition(error)) client.tagBefore = readRecord(error.get('D') ?? '').tag;
        } else before = this.note(row);
      }),
    );
    answers.expect(client);
    send(acts ? own.beginNamed : own.beginAsking);
    return client;
  }

  /** To be called before the messages of a COMMIT or PREPARE TRANSACTION, in a block of the client's own, are sent. Returns their flight. */
  claimBefore(kind: StatementKind): ClientFlight {
    const { answers, attempt, send } = this.wire;
    const prepares = kind === 'prepare';
    const { acts } = this.wire.name;
    // Of what the block has done before.
    const { digest } = attempt;
    const record = attempt.recordOf(prepares ? 'PREPARE TRANSACTION' : 'COMMIT');
    let isOver = false;
    let refused: ErrorFields | null = null;
    let found: RequestRow['kind'] = 'unused';
    const client: ClientFlight = clientFlight('pass', false, (status) => {
      if (isOver) return;
      if (refused !== null) this.refuseCommit(client, refused, status);
      // Else what the block did to the name is undone, or it may still be.
      else if (!client.failed && (status === 'I' || kind === 'commitChain')) this.committed(found);
      if (kind === 'commitChain') attempt.chained();
    });
    answers.expect(
      ownFlight(({ row, error }) => {
        refused = error;
        if (error === null) {
          found = this.noteClaim(row);
          return;
        }
        const again = isRepetition(error);
        isOver = again && this.wasAnother(error, digest);
        client.mode = again && !prepares && !isOver ? 'commitBefore' : 'swallow';
      }),
    );
    answers.expect(client);
    send(own.claimName({ record, acts, before: null }));
    return client;
  }

  private wrappedAnswered(wrapped: {
    readonly client: ClientFlight;
    readonly replies: Replies;
    readonly prepares: () => readonly Buffer[];
    readonly refused: ErrorFields | null;
    /** The name that was set before it, or none. */
    readonly before: string;
    readonly status: TransactionStatus;
  }): void {
    const { client, replies, prepares, refused, before, status } = wrapped;
    const { answers, name, attempt } = this.wire;
    if (refused !== null) {
      const again = isRepetition(refused);
      if (again && this.wasAnother(refused, attempt.digest)) return;
      if (!again) attempt.failed(name);
      const tell = (): void => {
        if (again) this.tellRepetition(refused, replies);
        else this.tellError(refused);
        answers.sayReady('I');
      };
      const isTold = again && client.tagBefore !== '' && replies(client.tagBefore) !== null;
      const finish = isTold ? () => this.prepare(prepares(), tell) : tell;
      if (status === 'I') finish();
      else this.run(again ? own.rollBackAndForget : own.rollBack, finish);
    } else if (status === 'E') {
      attempt.failed(name);
      this.run(own.rollBack, () => answers.sayReady('I'));
    } else if (status === 'T') this.commitWrapped(client, before);
    else {
      // It has ended the block by itself, which nothing is let through for.
      this.tellSuccess(client);
      answers.sayReady(status);
    }
  }

  /** What the request that is told as done has prepared the first time. */
  private prepare(messages: readonly Buffer[], done: () => void): void {
    if (messages.length === 0) done();
    else
      this.run(Buffer.concat([...messages, sync]), ({ error }) => {
        if (error === null) done();
        else this.wire.fail(errors.committedBeforeUntold);
      });
  }

  private commitWrapped(client: ClientFlight, before: string): void {
    const { answers, name, attempt } = this.wire;
    const { completion, completions, tellsData } = client;
    const tag = completion === null || completions > 1 || tellsData ? null : commandTag(completion);
    const { acts } = name;
    const { digest } = attempt;
    const claimed = { record: attempt.recordOf(tag), acts, before: completions <= 1 ? before : null };
    this.run(own.claimAndCommit(claimed), ({ row, error, status }) => {
      if (error === null) {
        this.committed(this.noteClaim(row));
        this.tellSuccess(client);
        answers.sayReady(status);
        return;
      }
      const again = isRepetition(error);
      if (again && this.wasAnother(error, digest)) return;
      if (!again) attempt.failed(name);
      const undo = again ? own.rollBackAndForget : own.rollBack;
      if (status === 'I') this.tellFailure(client, error);
      else this.run(undo, () => this.tellFailure(client, error));
    });
  }

  /** Of a wrapped request that was run, and could not be committed. */
  private tellFailure(client: ClientFlight, error: ErrorFields): void {
    const replies: Replies = (tag) =>
      client.tellsData || client.completions > 1 ? null : [commandComplete(tag)];
    if (isRepetition(error)) this.tellRepetition(error, replies);
    else this.tellError(error);
    this.wire.answers.sayReady('I');
  }

  private tellSuccess(client: ClientFlight): void {
    if (client.completion !== null) this.wire.answers.say(client.completion);
  }

  /** The transaction is rolled back already: that is what COMMIT does to one that has failed. */
  private refuseCommit(client: ClientFlight, refused: ErrorFields, status: TransactionStatus): void {
    const { answers } = this.wire;
    // It was not run, since something before it was refused.
    const isOpen = status === 'E';
    const finish = (): void => {
      if (client.mode === 'swallow') {
        if (isRepetition(refused)) answers.say(errorResponse('ERROR', errors.committedBeforeUntold));
        else this.tellError(refused);
      }
      answers.sayReady(isOpen && isRepetition(refused) ? 'I' : status);
    };
    if (!isRepetition(refused)) finish();
    else if (isOpen) {
      this.usedUp();
      this.run(own.rollBackAndForget, finish);
    } else {
      // In a block that is chained to it, a ROLLBACK would bring the name back.
      if (status === 'I') this.usedUp();
      else this.wire.attempt.committed();
      this.run(own.forgetName, finish);
    }
  }

  /** The transaction that took the name was another one, behind one that failed, or may have been. The session ends, so that nothing of it is done twice, or passed over. */
  private wasAnother(error: ErrorFields, digest: string): boolean {
    if (isSame(readRecord(error.get('D') ?? '').digest, digest)) return false;
    this.wire.fail(errors.committedAnother);
    return true;
  }

  private tellRepetition(error: ErrorFields, replies: Replies): void {
    const { answers } = this.wire;
    this.usedUp();
    const { tag } = readRecord(error.get('D') ?? '');
    const told = tag === '' ? null : replies(tag);
    if (told === null) {
      answers.say(errorResponse('ERROR', errors.committedBeforeUntold));
      return;
    }
    answers.say(notice(errors.committedBefore));
    for (const frame of told) answers.say(frame);
  }

  /** Without what would show the gateway's own statement: context, position, internal query. */
  private tellError(error: ErrorFields): void {
    if (missingStates.has(error.get('C') ?? '')) this.wire.missing();
    const told = [...error].filter(([letter]) => toldFields.includes(letter));
    this.wire.answers.say(errorFromFields(new Map(told)));
  }

  /** What PostgreSQL says of the name before the transaction: the name, or none. */
  private note(text: string | null): string {
    const row = readRequestRow(text);
    if (row.kind === 'none') return '';
    this.wire.learn(row);
    return row.name;
  }

  /** What PostgreSQL says of the name as the transaction is about to be committed. */
  private noteClaim(text: string | null): RequestRow['kind'] {
    const row = readRequestRow(text);
    if (row.kind === 'claimed') this.wire.learn(row);
    return row.kind;
  }

  /** The transaction is committed, and this was found out about its name. */
  private committed(found: RequestRow['kind']): void {
    this.wire.attempt.committed();
    if (found === 'none' || found === 'claimed') this.usedUp();
    if (found === 'claimed') this.wire.used();
  }

  /** The name, or there was none. */
  private usedUp(): void {
    this.wire.name.cleared();
    this.wire.attempt.cleared();
  }

  private run(flight: Buffer, done: (result: OwnResult) => void): void {
    this.wire.answers.expect(ownFlight(done));
    this.wire.send(flight);
  }
}

/** Severity, code, texts, and what it is about: schema, table, column, data type, constraint. */
const toldFields = 'SVCMDHstcdn';

function isRepetition(error: ErrorFields): boolean {
  return error.get('C') === errors.committedBefore.sqlState;
}
