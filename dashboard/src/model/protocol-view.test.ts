import { describe, expect, test } from 'vitest';
import type { ProtocolStatus } from '../../../server/src/api/status.ts';
import { payloadOf, payloadText, protocolFacts, protocolRole, protocolTitle } from './protocol-view.ts';
import { ballot, clusterOf, replica, status } from './testing.ts';

const paxos: ProtocolStatus = {
  name: 'paxos',
  counts: {
    proposals: 1200,
    chosen: 1190,
    moved: 30,
    rounds: 1300,
    duelled: 70,
    messages: 24_000,
    messagesPerAgreement: 20.04,
  },
};
const primary: ProtocolStatus = {
  name: 'primary',
  role: 'standby',
  replication: 'semi',
  needsCopy: true,
  counts: { acknowledged: 5, unacknowledged: 1 },
};

const valuesOf = (protocol: ProtocolStatus): readonly string[] =>
  protocolFacts(status('r1', { protocol, ballot: ballot(3, 'r1') })).map(
    ({ name, value }) => `${name}: ${value}`,
  );

describe('the protocol that a cluster runs', () => {
  test('is named by whoever is heard, and Paxos has nobody who leads', () => {
    const silent = { ...replica('r1'), status: null };
    expect(protocolTitle(clusterOf(silent, replica('r2', { protocol: paxos })))).toMatchObject({
      name: 'Paxos',
      leads: null,
    });
    expect(protocolTitle(clusterOf(replica('r1', { protocol: primary }))).leads).toBe('Primary');
    expect(protocolTitle(null).leads).toBe('Leader');
    expect(payloadOf(clusterOf(silent, replica('r2', { payload: 'statements' })))).toBe('statements');
    expect(payloadOf(null)).toBe('wal');
    expect(payloadText(status('r1', { payload: 'statements' }))).toBe('statements');
  });

  test('shows what is particular to it', () => {
    expect(valuesOf(paxos)).toEqual(['Duels lost: 70 of 1,300', 'Slots lost: 30', 'Messages: 20.0 an entry']);
    expect(valuesOf(primary)).toEqual(['Epoch: 3·r1', 'Answers when: on all disks']);
    expect(valuesOf({ name: 'multi-paxos' })).toEqual(['Ballot: 3·r1']);
  });

  test('has roles of its own', () => {
    const roleIn = (protocol: ProtocolStatus) => protocolRole({ protocol });
    expect(roleIn({ name: 'multi-paxos' })).toBeNull();
    expect(roleIn(paxos)).toBe('proposer');
    expect(roleIn(primary)).toBe('copy');
    expect(roleIn({ ...primary, role: 'recovering' })).toBe('recovering');
    expect(roleIn({ ...primary, role: 'primary' })).toBe('primary');
  });

  test('says that a copy is needed, and how many answers came in time', () => {
    const hint = protocolFacts(status('r1', { protocol: primary })).at(-1)?.hint;
    expect(hint).toBe('It needs a copy of the primary’s database. 5 were acknowledged so, 1 not in time');
  });
});
