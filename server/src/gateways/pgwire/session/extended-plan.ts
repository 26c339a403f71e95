/**
 * Whether messages of the extended protocol that are in no transaction block need one of ours, and of which kind.
 *
 * A group reaches up to the next transaction command and includes it. Pure, but for what the session has learnt.
 */
import type { ResolvedKind } from '../sql/statement.ts';
import type { SessionContext } from './context.ts';
import { type ExtendedMessage, kindOf } from './extended-messages.ts';

/** `bare`: none. */
export type GroupPlan = 'bare' | 'ro' | 'rw';

interface Seen {
  executes: number;
  writes: boolean;
  reads: boolean;
  bare: boolean;
  control: boolean;
}

export const planGroup = (
  context: SessionContext,
  messages: readonly ExtendedMessage[],
  from: number,
  options: { readonly mayReadOnly: boolean },
): { readonly plan: GroupPlan; readonly end: number } => {
  const seen: Seen = { executes: 0, writes: false, reads: false, bare: false, control: false };
  let end = from;
  while (end < messages.length && !seen.control) {
    const message = messages[end] as ExtendedMessage;
    end += 1;
    const kind = runKind(context, message);
    if (kind === null) continue;
    if (isControl(kind)) {
      if (message.kind === 'execute') seen.control = true;
      continue;
    }
    if (message.kind === 'execute') seen.executes += 1;
    if (kind.kind === 'read') seen.reads = true;
    else if (kind.kind === 'write') seen.writes = true;
    else if (kind.kind !== 'refused') seen.bare = true;
  }
  return { plan: planOf(seen, options.mayReadOnly && from === 0), end };
};

const planOf = (seen: Seen, mayReadOnly: boolean): GroupPlan => {
  // Planning, which Bind does, may run a client's functions already.
  if (seen.writes) return 'rw';
  if (seen.reads) return mayReadOnly && !seen.bare && !seen.control ? 'ro' : 'rw';
  return seen.bare && seen.executes > 1 ? 'rw' : 'bare';
};

const isControl = (kind: ResolvedKind): boolean =>
  kind.kind === 'begin' || kind.kind === 'commit' || kind.kind === 'rollback';

const runKind = (context: SessionContext, message: ExtendedMessage): ResolvedKind | null => {
  if (message.kind === 'execute') return kindOf(context, message.statement);
  if (message.kind !== 'bind') return null;
  if (message.entry === null) return { kind: 'write' };
  return kindOf(context, message.entry.statement);
};
