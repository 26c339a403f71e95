/**
 * Members, configurations and addresses, read from what a peer sent.
 *
 * Responsible for: the check of every field and of the bounds. Does not judge whether a configuration may follow another.
 * Invariant: a configuration that is read has one member for each replica, and at most `membersMax` of them.
 */
import type { Configuration, Member, MemberAddress } from '../../multipaxos/types/members.ts';
import { FrameError, integer, list, name, object, slot, text, word } from './fields.ts';

/** More than any group has. */
export const membersMax = 31;
export const nonceCharsMax = 128;
const hostCharsMax = 255;
const roles = ['voter', 'learner'] as const;

export function readConfiguration(value: unknown): Configuration {
  const fields = object(value, 'configuration');
  return {
    version: integer(fields.version, 'version'),
    slot: slot(fields.slot, 'slot'),
    members: readMembers(fields.members),
  };
}

export function readMembers(value: unknown): Member[] {
  const members = list(value, membersMax, 'members').map(readMember);
  const replicas = new Set(members.map(({ replica }) => replica));
  if (replicas.size !== members.length) throw new FrameError('members name a replica twice');
  return members;
}

function readMember(value: unknown): Member {
  const fields = object(value, 'member');
  return {
    replica: name(fields.replica, 'replica'),
    incarnation: integer(fields.incarnation, 'incarnation'),
    role: word(fields.role, roles, 'role'),
    nonce: text(fields.nonce, nonceCharsMax, 'nonce'),
    address: readAddress(fields.address),
  };
}

export function readAddress(value: unknown): MemberAddress {
  const fields = object(value, 'address');
  return { ...readEndpoint(fields), pgwire: readEndpoint(object(fields.pgwire, 'pgwire')) };
}

function readEndpoint(fields: Readonly<Record<string, unknown>>): { host: string; port: number } {
  const host = text(fields.host, hostCharsMax, 'host');
  const port = integer(fields.port, 'port');
  if (host === '') throw new FrameError('host is empty');
  if (port < 1 || port > 65_535) throw new FrameError('port is none');
  return { host, port };
}
