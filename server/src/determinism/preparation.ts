/**
 * What a client's request becomes before it is agreed on: rewritten, or refused; and its answer, with places in errors as the client's own text has them.
 *
 * Responsible for: following, for each session, the settings that its texts are read by. What is rewritten is messages.ts.
 */
import { settingRefusal } from './rules/statements.ts';
import { triggerRefusal } from './rules/temporary-schemas.ts';
import { originalPosition, type Edit } from './edits.ts';
import { rewriteMessages, type MessagePart } from './messages.ts';
import type { AcknowledgeChange, Refusal, StatementFacts } from './rewriting.ts';
import {
  errorFromFields,
  type GatewayError,
  readErrorFields,
  readParameterStatus,
} from '../pgwire/backend-messages.ts';
import { FrameSplitter, headerBytes } from '../pgwire/frame-splitter.ts';
import { query } from '../pgwire/frontend-messages.ts';
import { back, front } from '../pgwire/message-types.ts';

/** For people and traces. */
export type RequestKind = 'begin' | 'execute' | 'commit' | 'rollback';

/** What a request becomes before it is agreed on. `refused`: `failing` is a request that fails with the same error at every replica, as the statement would have. */
export type Prepared =
  | {
      readonly code: 'prepared';
      readonly bytes: Buffer;
      readonly what: RequestKind;
      /** Replicas that are the same answer the same, but for the order of rows. */
      readonly isCompared: boolean;
      /** Of the session's level; `alone`: it does nothing else. */
      readonly acknowledge: (AcknowledgeChange & { readonly isAlone: boolean }) | null;
      readonly answer: (bytes: Buffer) => Buffer;
    }
  | { readonly code: 'wantsData'; readonly isBinary: boolean }
  | { readonly code: 'refused'; readonly error: GatewayError; readonly failing: Buffer };

/** Of one session: it follows what PostgreSQL says of the session's settings. */
export interface RequestPreparation {
  prepare(bytes: Buffer): Prepared;
  answered(bytes: Buffer): void;
  /** Of a setting that a session is to begin with; null: it may. */
  refusalOf(name: string, value: string): GatewayError | null;
  /** A request that fails so at every replica. */
  failing(error: GatewayError): Buffer;
}

const temporaryMax = 1000;
const anyLength = 0x7fff_ffff;

export function createPreparation(): RequestPreparation {
  return new Preparation();
}

class Preparation implements RequestPreparation {
  private clientEncoding = 'UTF8';
  private standardConformingStrings = true;
  /** It may have a prepared statement, or a cursor, whose rows are not to be compared. */
  private keepsUncompared = false;
  /** Tables that the transaction has made for itself. */
  private readonly temporary = new Set<string>();
  /** Prepared statements that copy into a table, by name: whether in binary. */
  private readonly copying = new Map<string, boolean>();

  prepare(bytes: Buffer): Prepared {
    const { clientEncoding, standardConformingStrings } = this;
    const rewritten = rewriteMessages(bytes, { clientEncoding, standardConformingStrings });
    if (rewritten.kind === 'refused') return refused(rewritten);
    const refusal = this.triggerOfTemporary(rewritten.parts);
    if (refusal !== undefined) return refused(refusal);
    const isBinary = this.copiesIn(bytes, rewritten.parts);
    if (isBinary !== null && !hasData(bytes)) return { code: 'wantsData', isBinary };
    const edits = rewritten.parts.flatMap((part) =>
      'edits' in part && part.edits.length > 0 ? [part.edits] : [],
    );
    const [only] = edits;
    return {
      code: 'prepared',
      bytes: Buffer.from(rewritten.bytes),
      what: wordOf(rewritten.parts),
      isCompared: this.isCompared(rewritten.parts),
      acknowledge: acknowledgeIn(rewritten.parts),
      // Of several texts nobody knows which one an error means.
      answer:
        only === undefined || edits.length > 1 ? (answer) => answer : (answer) => replaced(answer, only),
    };
  }

  private triggerOfTemporary(parts: readonly MessagePart[]): Refusal | undefined {
    for (const part of parts)
      for (const facts of 'statements' in part ? part.statements : []) {
        const { makesTemporary, triggersOn } = facts;
        // It ends with its transaction.
        if (facts.class === 'begin') this.temporary.clear();
        if (makesTemporary !== undefined && this.temporary.size < temporaryMax)
          this.temporary.add(makesTemporary);
        if (triggersOn !== undefined && this.temporary.has(triggersOn)) return triggerRefusal(triggersOn);
      }
    return undefined;
  }

  private isCompared(parts: readonly MessagePart[]): boolean {
    let isCompared = !this.keepsUncompared;
    const bound = new Set<string>();
    for (const part of parts) {
      if (part.type === 'bind') bound.add(part.portal);
      // It may ask for the rest of an answer, of which an earlier request had the first rows (answer-digest.ts).
      if (part.type === 'execute' && !bound.has(part.portal)) isCompared = false;
      if (part.type !== 'query' && part.type !== 'parse') continue;
      const odd = part.statements.filter(({ compare }) => compare === 'none');
      if (odd.length === 0) continue;
      isCompared = false;
      this.keepsUncompared ||= part.type === 'parse' || odd.some(({ name }) => keeping.has(name));
    }
    return isCompared;
  }

  /** Whether the data that this request copies into a table comes in binary; null: it copies nothing in. */
  private copiesIn(bytes: Buffer, parts: readonly MessagePart[]): boolean | null {
    const statements = new Map<string, string>();
    let texts: string[] | null = null;
    let copies: boolean | null = null;
    for (const [index, part] of parts.entries()) {
      if (part.type === 'bind') statements.set(part.portal, part.statement);
      if (part.type === 'execute') copies ??= this.copying.get(statements.get(part.portal) ?? '') ?? null;
      if (part.type !== 'query' && part.type !== 'parse') continue;
      if (part.type === 'parse') this.copying.delete(part.statement);
      if (!part.statements.some(({ name }) => name === 'CopyStmt')) continue;
      texts ??= textsOf(bytes);
      const text = texts[parts.slice(0, index).filter(({ type }) => type === part.type).length] ?? '';
      if (!fromStdin.test(text)) continue;
      if (part.type === 'parse') this.copying.set(part.statement, binary.test(text));
      else copies ??= binary.test(text);
    }
    return copies;
  }

  refusalOf(name: string, value: string): GatewayError | null {
    const refused = settingRefusal(name, value);
    return refused === undefined ? null : { sqlState: '0A000', ...refused };
  }

  failing(error: GatewayError): Buffer {
    return failingRequest(error);
  }

  answered(bytes: Buffer): void {
    for (const { type, frame } of framesOf(bytes)) {
      if (type !== back.parameterStatus) continue;
      const { name, value } = readParameterStatus(frame);
      if (name === 'client_encoding') this.clientEncoding = value;
      if (name === 'standard_conforming_strings') this.standardConformingStrings = value === 'on';
    }
  }
}

/** What goes on behind the request. */
const keeping: ReadonlySet<string> = new Set(['PrepareStmt', 'DeclareCursorStmt']);
const fromStdin = /\bfrom\s+stdin\b/i;
const binary = /\bbinary\b/i;

/** Of Query and Parse messages: as the parser reads them, which has found a COPY among them. */
function textsOf(bytes: Buffer): string[] {
  return [...framesOf(bytes)].flatMap(({ type, frame }) =>
    type === front.query || type === front.parse ? [frame.toString('latin1', headerBytes)] : [],
  );
}

function hasData(bytes: Buffer): boolean {
  return [...framesOf(bytes)].some(({ type }) => type === front.copyDone || type === front.copyFail);
}

function* framesOf(bytes: Buffer): Generator<{ readonly type: number; readonly frame: Buffer }> {
  const splitter = new FrameSplitter(anyLength);
  splitter.feed(bytes);
  while (splitter.next()) yield { type: splitter.type, frame: bytes.subarray(splitter.start, splitter.end) };
}

/** With the places of its errors as the client's text has them. */
function replaced(answer: Buffer, edits: readonly Edit[]): Buffer {
  const frames = [...framesOf(answer)].map(({ type, frame }) => {
    if (type !== back.errorResponse) return frame;
    const fields = new Map(readErrorFields(frame));
    const position = fields.get('P');
    if (position === undefined) return frame;
    fields.set('P', String(originalPosition(edits, Number(position))));
    return errorFromFields(fields);
  });
  return Buffer.concat(frames);
}

function wordOf(parts: readonly MessagePart[]): RequestKind {
  const classes = parts.flatMap((part) =>
    'statements' in part ? part.statements.map((one: StatementFacts) => one.class) : [],
  );
  const [only] = classes;
  return classes.length === 1 && (only === 'begin' || only === 'commit' || only === 'rollback')
    ? only
    : 'execute';
}

/** A statement that is only parsed, or kept under a name, may take effect at any time later. */
function acknowledgeIn(
  parts: readonly MessagePart[],
): (AcknowledgeChange & { readonly isAlone: boolean }) | null {
  const statements = parts.flatMap((part) => ('statements' in part ? part.statements : []));
  const change = statements.find(({ acknowledge }) => acknowledge !== undefined)?.acknowledge;
  if (change === undefined) return null;
  const runs = parts.some((part) => part.type === 'query' || (part.type === 'execute' && part.portal === ''));
  const isKept = parts.some((part) => part.type === 'parse' && part.statement !== '');
  return { ...change, isAlone: statements.length === 1 && runs && !isKept };
}

function failingRequest({ sqlState, message, hint }: GatewayError): Buffer {
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const using = [`ERRCODE = ${literal(sqlState)}`, `MESSAGE = ${literal(message)}`];
  if (hint !== undefined) using.push(`HINT = ${literal(hint)}`);
  return query(`DO LANGUAGE plpgsql ${quoted(`BEGIN RAISE EXCEPTION USING ${using.join(', ')}; END`)}`);
}

/** In a block it has to fail at every replica, as the statement would have. */
function refused({ sqlstate, message, hint, position }: Refusal): Prepared {
  const error = { sqlState: sqlstate, message, ...(hint === undefined ? {} : { hint }) };
  const failing = failingRequest(error);
  return { code: 'refused', error: position === undefined ? error : { ...error, position }, failing };
}

function quoted(body: string): string {
  let tag = '$barista$';
  while (body.includes(tag)) tag = `${tag.slice(0, -1)}_$`;
  return `${tag}${body}${tag}`;
}
