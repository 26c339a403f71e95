/**
 * A Query of one statement, outside of a block, that the gateway has PostgreSQL run in a block of its own: what stands between the statement and its commit is the question for the transaction's id.
 *
 * Responsible for: the messages around the Query, and for that the client is told what a Query alone would have it told: a tag behind the commit, and one ReadyForQuery. BEGIN is sent by messages without a Sync: if it fails PostgreSQL passes over
 * all the rest, so that the statement never runs without its block.
 */
import { endsSession, readErrorFields } from '../codec/backend-messages.ts';
import * as send from '../codec/frontend-messages.ts';
import { back } from '../codec/message-types.ts';
import { calledId, callOf, type IdListener, looking } from './id-question.ts';

const own = 'barista_block';

/** Sent ahead of the Query. */
export const blockBegins = Buffer.concat([
  send.parse(own, 'BEGIN'),
  send.bind({ portal: own, statement: own }),
  send.execute(own),
  send.closePortal(own),
  send.closeStatement(own),
]);
/** Sent behind it. */
export const blockEnds = Buffer.concat([callOf(looking.oid), send.query('COMMIT')]);

/** What is being answered. */
type Stage = 'begin' | 'query' | 'question' | 'commit';

export class HiddenBlock {
  /** The last CommandComplete, which the client has not been told. While there is one every message has to be shown to this. */
  tag: Buffer | null = null;
  private readonly listener: IdListener;
  private stage: Stage = 'begin';
  private closed = 0;
  private failed = false;

  constructor(listener: IdListener) {
    this.listener = listener;
  }

  /** A message of the answer: whether the client is told, and what it is told ahead of it. */
  take(type: number, message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    if (type === back.errorResponse) return this.error(message);
    const { stage } = this;
    if (type === back.readyForQuery) return this.ready();
    if (stage === 'query') return this.answer(type, message);
    if (stage === 'commit') return { tells: false, ahead: this.takeTag() };
    if (stage === 'begin' && type === back.closeComplete) this.closed += 1;
    if (this.closed === 2 && stage === 'begin') this.stage = 'query';
    if (stage === 'question' && type === back.functionCallResponse) this.listener.id(calledId(message));
    return untold;
  }

  private answer(type: number, message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    const ahead = this.takeTag();
    const isTag = type === back.commandComplete;
    if (isTag) this.tag = Buffer.from(message);
    return { tells: !isTag, ahead };
  }

  private takeTag(): Buffer | null {
    const { tag } = this;
    this.tag = null;
    return tag;
  }

  private ready(): { readonly tells: boolean; readonly ahead: Buffer | null } {
    if (this.stage === 'commit') return told;
    this.stage = this.stage === 'query' ? 'question' : 'commit';
    return untold;
  }

  private error(message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    const fields = readErrorFields(message);
    if (endsSession(fields)) return told;
    const { stage, failed } = this;
    if (stage === 'begin' || (stage === 'question' && !failed)) this.listener.failed(fields.get('C') ?? '');
    this.tag = null;
    this.failed = true;
    return stage === 'query' || stage === 'commit' ? told : untold;
  }
}

const told = { tells: true, ahead: null } as const;
const untold = { tells: false, ahead: null } as const;
