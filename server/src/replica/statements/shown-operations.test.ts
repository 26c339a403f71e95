import { describe, expect, it } from 'vitest';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { encodeOperation, type Operation } from '../../payload/statements/operation.ts';
import { bind, execute, parse, query, sync } from '../../pgwire/frontend-messages.ts';
import { ownPrefix } from './session-sweep.ts';
import { sharedPrefix } from './shared-sessions.ts';
import { ShownOperations } from './shown-operations.ts';

const group = 'main' as GroupId;
const r2 = 'r2' as ReplicaId;
const session = `${ownPrefix(r2)}0123456789abcdef01234567`;
const told = { name: '012345', at: 'r2' };
const shown = (tellsSql = true): ShownOperations =>
  new ShownOperations({ replicas: ['r1' as ReplicaId, r2], tellsSql });

function command(operation: Operation): Entry {
  const proposal = { client: 'r1.4.0a1b2c', request: 7 };
  return { kind: 'command', group, proposal, payload: encodeOperation(operation) };
}

const request = (bytes: Uint8Array): Operation => ({
  kind: 'request',
  session,
  seq: 3,
  what: 'commit',
  bytes,
  clockUs: 1,
  seed: new Uint8Array(16),
  level: 'sync',
});

describe('what a slot holds where statements travel', () => {
  it('is told of a request: whose it is, who proposed it, and its statements', () => {
    const content = shown().contentOf(command(request(query('COMMIT'))));
    expect(content).toMatchObject({
      kind: 'operation',
      what: 'commit',
      session: told,
      proposer: 'r1',
      request: 3,
      level: 'sync',
      sql: ['COMMIT'],
    });
  });

  it('has the text of extended messages, cut, and only where that may be told', () => {
    const long = `SELECT '${'x'.repeat(5000)}'`;
    const bytes = Buffer.concat([
      parse('name', 'SELECT $1'),
      parse('', long),
      bind({ portal: '', statement: '', parameters: [] }),
      execute(''),
      sync,
    ]);
    const content = shown().contentOf(command(request(bytes)));
    expect(content).toMatchObject({ sql: ['SELECT $1', `${long.slice(0, 2000)}…`] });
    expect(shown(false).contentOf(command(request(bytes)))).toMatchObject({ sql: null });
  });

  it('lets nobody act in a session', () => {
    const entry = command(request(query('SELECT 1')));
    const all = JSON.stringify([shown().contentOf(entry), shown().eventOf({ slot: 1 as Slot, entry })]);
    expect(all).not.toContain(session.slice(8, 16));
  });

  it('is told of what is no request, and of what is no operation', () => {
    const open = command({ kind: 'open', session, user: 'u', database: 'd', parameters: [], clockUs: 1 });
    expect(shown().contentOf(open)).toMatchObject({
      what: 'open',
      user: 'u',
      database: 'd',
      sql: [],
      request: null,
    });
    const all = command({ kind: 'cancelOpen', session: null });
    expect(shown().contentOf(all)).toMatchObject({ what: 'cancelOpen', session: null });
    const anybodys = command({ kind: 'close', session: `${sharedPrefix}0123456789abcdef01234567` });
    expect(shown().contentOf(anybodys)).toMatchObject({ session: { at: null } });
    expect(shown().contentOf({ kind: 'noop', group })).toEqual({ kind: 'noop' });
    const broken: Entry = {
      kind: 'command',
      group,
      proposal: { client: 'r1', request: 1 },
      payload: Buffer.from([9]),
    };
    expect(shown().contentOf(broken)).toMatchObject({ kind: 'unreadable' });
  });

  it('is an event with the entry’s label', () => {
    const slot = 9 as Slot;
    expect(shown().eventOf({ slot, entry: command(request(query('COMMIT'))) })).toEqual({
      name: 'SlotChosen',
      slot,
      label: 'r1.4.0a1b2c/7',
      what: 'commit',
      session: told,
    });
    expect(shown().eventOf({ slot, entry: { kind: 'noop', group } })).toMatchObject({
      label: 'noop',
      what: null,
      session: null,
    });
  });
});
