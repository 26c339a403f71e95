/** The text of a request, by whose words some of what it does is told. Pure. */
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import type { RequestOperation } from './operation.ts';
import { messagesOf } from './request-plan.ts';

/** Latin1, without the heads of messages: a byte of a length may be a letter, and stand right ahead of a word. */
export function textOf({ bytes }: RequestOperation): string {
  return (messagesOf(bytes) ?? []).map((message) => message.toString('latin1', headerBytes)).join('\n');
}
