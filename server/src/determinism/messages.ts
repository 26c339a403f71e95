/**
 * A request cycle's bytes (a Query, or extended messages up to a Sync, or COPY data) without what would differ between replicas.
 *
 * Knows the frontend's messages (PostgreSQL's documentation, "Message Formats"), no sockets and no session: what a statement of that name is, the executor keeps by the parts told here.
 */
import { bytesOf, textOf } from './client-text.ts';
import type { Edit } from './edits.ts';
import { rewriteBinary } from './rewrite.ts';
import type { Refusal, RewriteContext, StatementFacts } from './rewriting.ts';
import { checkParameters } from './rules/parameters.ts';

/** What the cycle's messages do, in their order; Describe, Flush, Sync and COPY data are left out. */
export type MessagePart =
  | {
      readonly type: 'query';
      readonly statements: readonly StatementFacts[];
      readonly edits: readonly Edit[];
    }
  | {
      readonly type: 'parse';
      readonly statement: string;
      readonly statements: readonly StatementFacts[];
      readonly edits: readonly Edit[];
    }
  | { readonly type: 'bind'; readonly portal: string; readonly statement: string }
  | { readonly type: 'execute'; readonly portal: string }
  | { readonly type: 'close'; readonly what: 'statement' | 'portal'; readonly name: string };

export interface RewrittenMessages {
  readonly kind: 'rewritten';
  /** The same array if nothing was to be changed. */
  readonly bytes: Uint8Array;
  readonly parts: readonly MessagePart[];
}

export type MessagesRewriting = RewrittenMessages | Refusal;

/** Of the texts of one request: they are parsed in one go, and nothing else is done here meanwhile. */
export const textBytesMax = 64 * 1024;

const tooLong: Refusal = {
  kind: 'refused',
  sqlstate: '54000',
  message: `statements of more than ${textBytesMax} bytes in one request`,
  hint: 'Give the values as parameters, or the rows by COPY.',
  rule: 'long texts',
};

const broken = (message: string): Refusal => ({
  kind: 'refused',
  sqlstate: '08P01',
  message,
  rule: 'broken messages',
});

interface Message {
  readonly type: string;
  readonly body: Uint8Array;
  readonly whole: Uint8Array;
}

function* split(bytes: Uint8Array): Generator<Message | undefined> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const length = at + 5 <= bytes.length ? view.getInt32(at + 1) : -1;
    const end = at + 1 + length;
    if (length < 4 || end > bytes.length) {
      yield undefined;
      return;
    }
    yield {
      type: String.fromCharCode(bytes[at] ?? 0),
      body: bytes.subarray(at + 5, end),
      whole: bytes.subarray(at, end),
    };
    at = end;
  }
}

/** The text from `at` up to its byte 0, and the place behind that. */
function cString(body: Uint8Array, at: number): { text: string; next: number } | undefined {
  const end = body.indexOf(0, at);
  return end < 0 ? undefined : { text: textOf(body.subarray(at, end)), next: end + 1 };
}

function message(type: string, ...parts: Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(length, 1);
  return Buffer.concat([head, ...parts]);
}

interface Rewritten {
  readonly part: MessagePart | undefined;
  readonly bytes: Uint8Array;
}

function query({ body, whole }: Message, context: RewriteContext): Rewritten | Refusal {
  const text = cString(body, 0);
  if (text === undefined) return broken('a Query message without an end');
  const result = rewriteBinary(text.text, context);
  if (result.kind === 'refused') return result;
  const { statements, edits } = result;
  const bytes = edits.length === 0 ? whole : message('Q', bytesOf(`${result.sql}\0`));
  return { part: { type: 'query', statements, edits }, bytes };
}

function parse({ body, whole }: Message, context: RewriteContext): Rewritten | Refusal {
  const name = cString(body, 0);
  const text = name === undefined ? undefined : cString(body, name.next);
  if (name === undefined || text === undefined) return broken('a Parse message without an end');
  const result = rewriteBinary(text.text, context);
  if (result.kind === 'refused') return result;
  const { statements, edits } = result;
  const bytes =
    edits.length === 0
      ? whole
      : message('P', bytesOf(`${name.text}\0${result.sql}\0`), body.subarray(text.next));
  return { part: { type: 'parse', statement: name.text, statements, edits }, bytes };
}

function bind({ body, whole }: Message, types: readonly number[] | undefined): Rewritten | Refusal {
  const portal = cString(body, 0);
  const statement = portal === undefined ? undefined : cString(body, portal.next);
  if (portal === undefined || statement === undefined) return broken('a Bind message without an end');
  const refusal = checkParameters(body, statement.next, types);
  if (refusal !== undefined) return refusal;
  return { part: { type: 'bind', portal: portal.text, statement: statement.text }, bytes: whole };
}

function execute({ body, whole }: Message): Rewritten | Refusal {
  const portal = cString(body, 0);
  if (portal === undefined) return broken('an Execute message without an end');
  return { part: { type: 'execute', portal: portal.text }, bytes: whole };
}

function close({ body, whole }: Message): Rewritten | Refusal {
  const name = cString(body, 1);
  if (name === undefined) return broken('a Close message without an end');
  const what = body[0] === 0x53 ? 'statement' : 'portal';
  return { part: { type: 'close', what, name: name.text }, bytes: whole };
}

/** The types that a Parse message names. */
function typesOf({ body }: Message): { statement: string; types: number[] } | undefined {
  const name = cString(body, 0);
  const text = name === undefined ? undefined : cString(body, name.next);
  if (name === undefined || text === undefined || text.next + 2 > body.length) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const count = view.getUint16(text.next);
  if (text.next + 2 + 4 * count > body.length) return undefined;
  return {
    statement: name.text,
    types: Array.from({ length: count }, (_, i) => view.getUint32(text.next + 2 + 4 * i)),
  };
}

const passed = new Set(['D', 'H', 'S', 'X', 'd', 'c', 'f']);

export function rewriteMessages(bytes: Uint8Array, context: RewriteContext): MessagesRewriting {
  const parts: MessagePart[] = [];
  const written: Uint8Array[] = [];
  const parsed = new Map<string, readonly number[]>();
  let changed = false;
  let textBytes = 0;
  for (const next of split(bytes)) {
    if (next === undefined) return broken('a message without an end');
    if (next.type === 'Q' || next.type === 'P') textBytes += next.body.length;
    if (textBytes > textBytesMax) return tooLong;
    const result = rewriteMessage(next, context, parsed);
    if ('kind' in result) return result;
    if (result.part !== undefined) parts.push(result.part);
    changed ||= result.bytes !== next.whole;
    written.push(result.bytes);
  }
  return { kind: 'rewritten', bytes: changed ? Buffer.concat(written) : bytes, parts };
}

function rewriteMessage(
  next: Message,
  context: RewriteContext,
  parsed: Map<string, readonly number[]>,
): Rewritten | Refusal {
  switch (next.type) {
    case 'Q':
      return query(next, context);
    case 'P': {
      const named = typesOf(next);
      if (named === undefined) return broken('a Parse message without an end');
      parsed.set(named.statement, named.types);
      return parse(next, context);
    }
    case 'B': {
      const portal = cString(next.body, 0);
      const name = portal === undefined ? undefined : cString(next.body, portal.next);
      const statement = name?.text ?? '';
      return bind(next, context.parameterTypes?.(statement) ?? parsed.get(statement));
    }
    case 'E':
      return execute(next);
    case 'C':
      return close(next);
    case 'F':
      return {
        kind: 'refused',
        sqlstate: '0A000',
        message: 'the function call message is not replicated',
        hint: 'Call the function in a SELECT.',
        rule: 'function call messages',
      };
    default:
      return passed.has(next.type)
        ? { part: undefined, bytes: next.whole }
        : broken(`a message of type ${JSON.stringify(next.type)} in a request`);
  }
}
