import { beforeAll, describe, expect, it } from 'vitest';
import { loadParser } from '../../determinism/parser.ts';
import { createPreparation } from '../../determinism/preparation.ts';
import type { OperationResult, SessionFacts } from '../../payload/statements/executor.ts';
import { decodeOperation, type Operation } from '../../payload/statements/operation.ts';
import { errorResponse, readErrorFields, readyForQuery } from '../../pgwire/backend-messages.ts';
import { query } from '../../pgwire/frontend-messages.ts';
import type {
  CallAnswer,
  SessionOpening,
  SharedCall,
  SharedSession,
} from '../../ports/statement-sessions.ts';
import { ReplicaSharedSessions } from './shared-sessions.ts';
import type { Submitted } from './submissions.ts';

beforeAll(loadParser);

const opening: SessionOpening = { user: 'u', database: 'd', parameters: [] };
const call: SharedCall = { bytes: query('SELECT 1'), needs: 'any', name: null, digest: '0'.repeat(32) };

/** Sessions at one replica; `agrees`: what it is given is agreed on, and executed. */
function replica() {
  const agreed: Operation[] = [];
  const state = { agrees: true, drawn: 0 };
  const submit = (_name: string, bytes: Uint8Array): Promise<Submitted<OperationResult>> => {
    if (!state.agrees) return Promise.resolve({ code: 'unknown', reason: 'no majority' });
    const operation = decodeOperation(bytes);
    if (operation === null) throw new Error('it is no operation');
    agreed.push(operation);
    const seq = operation.kind === 'request' ? operation.seq : 0;
    const settings = { client_encoding: 'UTF8', standard_conforming_strings: 'on' };
    const session: SessionFacts = { seq, status: 'I', settings, hadUncompared: false };
    const isGone = operation.kind === 'request' && closed().includes(operation.session);
    const gone = errorResponse('FATAL', { sqlState: '08003', message: 'there is no such session' });
    const told = isGone ? gone : readyForQuery('I');
    const answer = operation.kind === 'request' ? told : Buffer.alloc(0);
    if (isGone)
      return Promise.resolve({
        code: 'executed',
        result: { outcome: 'executed', answer, status: 'closed', digest: null },
      });
    return Promise.resolve({
      code: 'executed',
      result: { outcome: 'executed', answer, status: 'I', digest: null, session },
    });
  };
  const sessions = new ReplicaSharedSessions({
    submissions: { submit, has: () => false },
    preparation: createPreparation,
    whyNot: () => null,
    whyNoMore: () => null,
    factsOf: () => null,
    randomBytes: (count) => Buffer.alloc(count, (state.drawn += 1)),
    clockUs: () => 0,
  });
  const closed = (): string[] => agreed.flatMap((each) => (each.kind === 'close' ? [each.session] : []));
  return { sessions, state, closed };
}

async function opened(sessions: ReplicaSharedSessions): Promise<SharedSession> {
  const told = await sessions.open(opening);
  if (told.code !== 'opened') throw new Error(told.code);
  return told.session;
}

function stateOf(answer: CallAnswer): string | null {
  if (answer.code !== 'answered') return answer.code;
  return answer.bytes[0] === 'E'.charCodeAt(0) ? (readErrorFields(answer.bytes).get('C') ?? '') : null;
}

describe('sessions whose clients have been told what may be wrong', () => {
  it('are over, and are closed at all replicas; those that were told nothing here go on', async () => {
    const { sessions, closed } = replica();
    const told = await opened(sessions);
    const untold = await opened(sessions);
    expect(stateOf(await told.call(call))).toBeNull();
    sessions.endAll('it differs');
    const states: unknown[] = [];
    for (const session of [told, sessions.at(told.id)]) {
      const answer = await session.call(call);
      states.push(stateOf(answer), answer.code === 'answered' && answer.ended);
    }
    expect(states).toEqual(['57P01', true, '08003', true]);
    expect(stateOf(await untold.call(call))).toBeNull();
    expect(closed()).toEqual([told.id]);
  });

  it('are closed later where the replicas cannot agree, and stay over until then', async () => {
    const { sessions, state, closed } = replica();
    const told = await opened(sessions);
    await told.call(call);
    state.agrees = false;
    sessions.endAll('it differs');
    await Promise.resolve();
    expect(closed()).toEqual([]);
    expect(stateOf(await sessions.at(told.id).call(call))).toBe('57P01');
    state.agrees = true;
    sessions.look();
    expect(closed()).toEqual([told.id]);
  });

  it('are not looked for when they have ended otherwise', async () => {
    const { sessions, closed } = replica();
    const [one, other] = [await opened(sessions), await opened(sessions)];
    for (const session of [one, other]) await session.call(call);
    await one.close();
    other.closeIfUnused();
    const before = closed();
    sessions.endAll('it differs');
    expect(closed()).toEqual(before);
  });
});
