/** One message of each kind, with something in every field, for what is held to recorded bytes. */
import type { Configuration, MemberAddress } from '../../../multipaxos/types/members.ts';
import type { Message } from '../../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { ControlMessage } from '../../../ports/control.ts';

export const sampleGroup = 'main' as GroupId;
const group = sampleGroup;
const slot = (number: number): Slot => number as Slot;
const id = (name: string): ReplicaId => name as ReplicaId;
const ballot = { round: 300, replica: id('r2.3') };
const address: MemberAddress = {
  host: 'db1.example.net',
  port: 7532,
  pgwire: { host: '::1', port: 7432 },
};
const configuration: Configuration = {
  version: 7,
  slot: slot(70_000),
  members: [
    { replica: id('r1'), incarnation: 1, role: 'voter', nonce: '', address },
    { replica: id('r2'), incarnation: 3, role: 'learner', nonce: '0a0b', address },
  ],
};
const payload = Buffer.from('00ff10', 'hex');
const proposal = { client: 'r2.3.run', request: 4_294_967_296 };
const command = { kind: 'command', group, proposal, payload } as const;
const entries = [
  { kind: 'noop', group },
  { kind: 'leaderStart', group, ballot },
  { kind: 'configuration', group, ballot, version: 8, members: configuration.members },
  command,
] as const;
const digest = {
  slot: slot(9),
  objects: [{ database: 'app', kind: 'table', name: 'public.t', rows: 3, digest: 'ab' }],
  skipped: [{ database: 'app', name: 'public.u', reason: 'it was altered' }],
  hasSequences: true,
} as const;

/** Frames that have their own form and frames of msgpack are both here: an Accept of commands, and one of other entries. */
export const sampleMessages: Readonly<Record<string, Message>> = {
  PreVote: { kind: 'PreVote', group, ballot },
  PreVoteReply: { kind: 'PreVoteReply', group, ballot, granted: true, configuration },
  Prepare: { kind: 'Prepare', group, ballot, commitPoint: slot(12) },
  Promise: {
    kind: 'Promise',
    group,
    ballot,
    commitPoint: slot(12),
    configuration,
    votes: entries.map((entry, index) => ({ slot: slot(13 + index), ballot, entry })),
  },
  Reject: { kind: 'Reject', group, ballot, promised: { round: 301, replica: id('r3') } },
  Accept: {
    kind: 'Accept',
    group,
    ballot,
    firstSlot: slot(20),
    entries: [command, command],
    commitPoint: slot(19),
    sentAtMs: 1234.5,
  },
  'Accept of other entries': {
    kind: 'Accept',
    group,
    ballot,
    firstSlot: slot(20),
    entries,
    commitPoint: slot(19),
    sentAtMs: 1234.5,
  },
  Accepted: {
    kind: 'Accepted',
    group,
    ballot,
    firstSlot: slot(20),
    lastSlot: slot(22),
    commitPoint: slot(19),
    sentAtMs: 1234.5,
  },
  Heartbeat: {
    kind: 'Heartbeat',
    group,
    ballot,
    commitPoint: slot(19),
    sentAtMs: 1234.5,
    globalApplicationPointer: slot(5),
    configuration,
  },
  'Heartbeat with a note': {
    kind: 'Heartbeat',
    group,
    ballot,
    commitPoint: slot(19),
    sentAtMs: 1234.5,
    globalApplicationPointer: slot(5),
    configuration,
    note: { serves: true },
  },
  'Heartbeat that asks for links': {
    kind: 'Heartbeat',
    group,
    ballot,
    commitPoint: slot(19),
    sentAtMs: 1234.5,
    globalApplicationPointer: slot(5),
    configuration,
    note: { serves: true, asksLinks: true },
  },
  HeartbeatAck: {
    kind: 'HeartbeatAck',
    group,
    ballot,
    sentAtMs: 1234.5,
    commitPoint: slot(19),
    durableApplicationPointer: slot(4),
  },
  'HeartbeatAck with a pace': {
    kind: 'HeartbeatAck',
    group,
    ballot,
    sentAtMs: 1234.5,
    commitPoint: slot(19),
    durableApplicationPointer: slot(4),
    pace: { logMs: 2001.5, databaseMs: 1, quorumMs: null },
  },
  Resigned: { kind: 'Resigned', group, ballot, successor: id('r1') },
  CatchUpRequest: { kind: 'CatchUpRequest', group, ballot, fromSlot: slot(1), toSlot: slot(512) },
  CatchUpReply: {
    kind: 'CatchUpReply',
    group,
    ballot,
    firstSlot: slot(1),
    entries,
    commitPoint: slot(19),
    purgedTo: slot(0),
    configuration,
  },
};

export const sampleControls: Readonly<Record<ControlMessage['kind'], ControlMessage>> = {
  JoinRequest: { kind: 'JoinRequest', replica: id('r4'), nonce: '0c', address },
  JoinReply: {
    kind: 'JoinReply',
    nonce: '0c',
    code: 'admitted',
    reason: '',
    leader: id('r2'),
    admission: { cluster: 'c0ffee', member: id('r4.2'), configuration, purgedTo: slot(3), isNew: false },
  },
  VerifyQuestion: { kind: 'VerifyQuestion', check: 'r2 1', slot: slot(9) },
  VerifyReport: { kind: 'VerifyReport', check: 'r2 1', digest, reason: '', isFenced: false },
  VerifyVerdict: {
    kind: 'VerifyVerdict',
    check: 'r2 1',
    slot: slot(9),
    differing: ['public.t'],
    repair: true,
    equal: [id('r1')],
  },
  ReadIndexQuestion: { kind: 'ReadIndexQuestion', run: 'r1 5', number: 2 },
  ReadIndexAnswer: { kind: 'ReadIndexAnswer', run: 'r1 5', number: 2, index: slot(19) },
  ShownQuestion: { kind: 'ShownQuestion', run: 'r1 5', number: 3, end: '900', committed: ['899'] },
  ShownAnswer: { kind: 'ShownAnswer', run: 'r1 5', number: 3, end: '901', running: ['898'] },
  LeadQuestion: { kind: 'LeadQuestion', run: 'r2 8', number: 1 },
  LeadAnswer: { kind: 'LeadAnswer', run: 'r2 8', number: 1, reason: '', applied: slot(18) },
  Carried: { kind: 'Carried', channel: 'operations', bytes: Buffer.from('0102ff', 'hex') },
};
