/** The plan of a request: of a Query (request-plan.ts), or of extended messages: where in their row the pointer is advanced, and what each of them is answered with. Pure. */
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import { readBindNames, shortName, stringEnd } from '../../pgwire/frontend-messages.ts';
import { front } from '../../pgwire/message-types.ts';
import { frameOf } from '../../pgwire/backend-messages.ts';
import {
  canBeTakenBack,
  type Expected,
  type PlanContext,
  type PlanRefusal,
  type RequestPlan,
  type StatementMeaning,
  TransactionCourse,
  countEnds,
  malformed,
  messagesOf,
  notBehindRollback,
  noDataToCopy,
  planQuery,
  refusalOf,
} from './request-plan.ts';
import type { NeededDatabase } from './databases-in-use.ts';
import { ownCall } from './own-statement.ts';
import { fitsSavepoint, mayWrite, statementsOf } from './text-statements.ts';

/** A statement that is known by its name alone was made by SQL's PREPARE, which takes only such. */
const ordinary: StatementMeaning = { kind: 'plain', word: 'execute', changesState: true };
const nothing: StatementMeaning = { kind: 'setting', word: 'set', changesState: false };

const copying: ReadonlySet<number> = new Set([front.copyData, front.copyDone, front.copyFail]);

export function planRequest(bytes: Uint8Array, context: PlanContext): RequestPlan | PlanRefusal {
  const messages = messagesOf(bytes);
  const [first] = messages ?? [];
  if (messages === null || first === undefined) return malformed;
  if (first[0] === front.functionCall)
    return {
      code: 'refused',
      sqlState: '0A000',
      message: 'function calls by message are not supported under payload: statements',
      hint: 'Call the function in a SELECT.',
    };
  if (first[0] === front.query) {
    if (!messages.slice(1).every((message) => copying.has(message[0]!))) return malformed;
    return planQuery(first, messages.slice(1), context);
  }
  return planMessages(messages, context);
}

function planMessages(messages: readonly Buffer[], context: PlanContext): RequestPlan | PlanRefusal {
  const planner = new MessagePlanner(context);
  const mayCopy = countEnds(messages) > 0;
  for (const [index, message] of messages.entries()) {
    const refusal = planner.take(message, index === messages.length - 1, mayCopy);
    if (refusal !== null) return refusal;
  }
  return planner.end(messages);
}

/** What Close closes: `S`, and not a portal. */
const ofStatement = 0x53;

class MessagePlanner {
  private readonly context: PlanContext;
  private readonly course: TransactionCourse;
  private readonly statements: Map<string, StatementMeaning>;
  private readonly portals: Map<string, StatementMeaning>;
  private readonly out: Buffer[] = [];
  private readonly expected: Expected[] = [];
  private readonly prepared: (readonly [string, StatementMeaning])[] = [];
  private readonly closings: Buffer[] = [];
  private readonly bound: (readonly [string, StatementMeaning])[] = [];
  private readonly executed: StatementMeaning[] = [];
  private readonly needs: NeededDatabase[] = [];
  private mayChangeState = false;
  private isAlone = false;
  private hasSync = false;
  private advances = 0;

  constructor(context: PlanContext) {
    this.context = context;
    this.course = new TransactionCourse(context.status);
    this.statements = new Map(context.statements);
    this.portals = new Map(context.portals);
  }

  take(message: Buffer, isLast: boolean, mayCopy: boolean): PlanRefusal | null {
    switch (message[0]!) {
      case front.parse:
        return this.parse(message);
      case front.bind: {
        const { portal, statement } = readBindNames(message, headerBytes, message.length);
        const meaning = this.statements.get(statement) ?? ordinary;
        this.portals.set(portal, meaning);
        this.bound.push([portal, meaning]);
        return this.pass(message, 'bind');
      }
      case front.describe:
        return this.pass(message, 'describe');
      case front.close:
        // A statement with a name: a restarted replica must not prepare it again.
        this.mayChangeState ||= message[headerBytes] === ofStatement && message[headerBytes + 1] !== 0;
        return this.pass(message, 'close');
      case front.execute:
        return this.execute(message, mayCopy);
      case front.flush:
        this.out.push(message);
        return null;
      case front.sync:
        if (this.hasSync || !(isLast || mayCopy)) return malformed;
        this.hasSync = true;
        if (this.course.end() && !this.isOnlyAlone()) this.advance(false);
        return this.pass(message, 'sync');
      case front.copyData:
      case front.copyDone:
      case front.copyFail:
        this.out.push(message);
        return null;
      default:
        return malformed;
    }
  }

  end(messages: readonly Buffer[]): RequestPlan | PlanRefusal {
    if (!this.hasSync) return malformed;
    const { status } = this.context;
    const { isDivided } = this.course;
    if (status === 'E' && this.needs.length > 0) return notBehindRollback;
    return {
      code: 'run',
      bytes: Buffer.concat(this.out),
      expected: this.expected,
      insertions: [],
      text: null,
      mode: this.isAlone ? 'alone' : 'together',
      isRepeatable:
        !isDivided &&
        !this.isAlone &&
        canBeTakenBack(this.executed) &&
        (status === 'I' || this.executed.every(fitsSavepoint)),
      copies: countEnds(messages),
      isDivided: isDivided && this.executed.length > 1 && this.advances > 0,
      mayChangeState: this.mayChangeState,
      needs: this.needs,
      prepared: this.prepared,
      closings: this.closings,
      bound: this.bound,
    };
  }

  private parse(message: Buffer): PlanRefusal | null {
    const nameEnd = stringEnd(message, headerBytes, message.length);
    const begin = Math.min(nameEnd + 1, message.length);
    const text = message.subarray(begin, stringEnd(message, begin, message.length));
    const [statement] = statementsOf(text, this.context.rules);
    const meaning = statement === undefined ? nothing : meaningOf(statement);
    const refusal = refusalOf(meaning);
    if (refusal !== null) return refusal;
    const name = shortName(message, headerBytes, nameEnd);
    this.statements.set(name, meaning);
    this.prepared.push([name, meaning]);
    const closed = Buffer.concat([Buffer.from([ofStatement]), message.subarray(headerBytes, begin)]);
    this.closings.push(frameOf(front.close, closed));
    this.mayChangeState ||= name !== '';
    return this.pass(message, 'parse');
  }

  private execute(message: Buffer, mayCopy: boolean): PlanRefusal | null {
    const name = shortName(message, headerBytes, stringEnd(message, headerBytes, message.length));
    const meaning = this.portals.get(name) ?? ordinary;
    if (!this.course.isInBlock && (meaning.kind === 'alone' || meaning.kind === 'procedure'))
      this.isAlone = true;
    const needed = this.course.needs(meaning);
    if (needed !== null) this.needs.push(needed);
    if (this.course.take(meaning)) this.advance(this.course.isInBlock);
    this.executed.push(meaning);
    this.mayChangeState ||= meaning.changesState;
    this.pass(message, 'execute');
    // PostgreSQL would wait for data, and a Sync is none; where it does not copy in it passes over this.
    if (meaning.word === 'copy' && !mayCopy) this.out.push(noDataToCopy);
    return null;
  }

  /** Nothing but what commits by itself. */
  private isOnlyAlone(): boolean {
    return (
      this.isAlone &&
      this.executed.filter(mayWrite).every(({ kind }) => kind === 'alone' || kind === 'procedure')
    );
  }

  private advance(goesOn: boolean): void {
    this.advances += 1;
    for (const [message, of] of ownCall(this.context.advance.call(goesOn))) {
      this.out.push(message);
      this.expected.push({ of, isOwn: true });
    }
  }

  private pass(message: Buffer, of: Expected['of']): null {
    this.out.push(message);
    this.expected.push({ of, isOwn: false });
    return null;
  }
}

/** What a Parse holds is one statement, or PostgreSQL refuses it: its first word is enough where its end is not clear. */
function meaningOf({ kind, ...statement }: StatementMeaning): StatementMeaning {
  const { word, changesState, holds = false, needs = null } = statement;
  const isPlain = kind === 'unclear' && ordinaryWords.has(word);
  return { kind: isPlain ? 'plain' : kind, word, changesState, holds, needs };
}

const ordinaryWords: ReadonlySet<string> = new Set([
  'select',
  'insert',
  'update',
  'delete',
  'merge',
  'with',
  'values',
  'table',
  'explain',
]);
