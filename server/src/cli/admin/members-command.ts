/**
 * `barista members`: who is in the group, and changes of it.
 *
 * Responsible for: the requests, the order of a replacement, and what people are told. The leader decides what is safe.
 * Invariant: a replacement removes the old replica only when the new one votes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MembersAnswer, MembershipStatus, MembersRequest } from '../../api/status.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import { CliError, exitCodes } from '../../main/errors.ts';
import type { MembersAction } from '../program-admin.ts';
import { type AdminTarget, askAdmin, fetchMembership } from './admin-client.ts';

type Say = (line: string) => void;
type Member = MembershipStatus['members'][number];

/** The replica itself waits 15 s for a change to be chosen. */
const changeMs = 30_000;
const lookAgainMs = 1000;

/** @throws CliError */
export async function runMembers(target: AdminTarget, action: MembersAction, say: Say): Promise<void> {
  switch (action.action) {
    case 'list': {
      const membership = await fetchMembership(target);
      say(action.json ? JSON.stringify(membership, null, 2) : membersTable(membership));
      return;
    }
    case 'add':
      await change(target, { action: 'add', replica: action.replica, address: action.address });
      say(
        `${action.replica} is expected. Start it ("barista serve"): it joins, and votes when it has caught up.`,
      );
      return;
    case 'remove':
      await change(target, { action: 'remove', replica: action.replica });
      say(`${action.replica} is no member any more. Stop it, if it runs.`);
      return;
    case 'replace':
      return replace(target, action, say);
    default:
      return action satisfies never;
  }
}

async function change(target: AdminTarget, body: MembersRequest): Promise<MembershipStatus> {
  const answer = await askAdmin(target, { path: '/api/members', body, timeoutMs: changeMs });
  return (answer as MembersAnswer).membership;
}

type Replacement = Extract<MembersAction, { readonly action: 'replace' }>;

async function replace(target: AdminTarget, action: Replacement, say: Say): Promise<void> {
  const { old, replica, address, waitMinutes } = action;
  if (old === replica) {
    throw new CliError(
      `${old} would replace itself. A replica that lost its disk is started again, and joins by itself.`,
      exitCodes.usage,
    );
  }
  const before = await fetchMembership(target);
  if (memberOf(before, old) === undefined) {
    // The last step of the same command may have been done already.
    if (memberOf(before, replica)?.role === 'voter') return say(`${replica} has already replaced ${old}.`);
    throw new CliError(`Refused: ${old} is no member.`, exitCodes.refused);
  }
  if (memberOf(before, replica) === undefined) {
    await change(target, { action: 'add', replica, address });
    say(`${replica} is expected. Start it now ("barista serve").`);
  }
  await untilVoter(target, action, say, performance.now() + waitMinutes * 60_000);
  await change(target, { action: 'remove', replica: old });
  say(`${replica} votes, and ${old} is no member any more. Stop ${old}, if it runs.`);
}

async function untilVoter(
  target: AdminTarget,
  { old, replica, waitMinutes }: Replacement,
  say: Say,
  untilMs: number,
): Promise<void> {
  let told = '';
  for (;;) {
    const member = memberOf(await fetchMembership(target), replica);
    if (member?.role === 'voter') return;
    const state = member === undefined || member.incarnation === 0 ? 'to join' : 'to catch up';
    if (state !== told) say(`Waiting for ${replica} ${state}...`);
    told = state;
    if (performance.now() > untilMs) {
      throw new CliError(
        `${replica} does not vote after ${waitMinutes} minutes. ${old} was not removed: the same command goes on from here.`,
      );
    }
    await sleep(lookAgainMs);
  }
}

function memberOf({ members }: MembershipStatus, id: string): Member | undefined {
  return members.find(({ replica }) => replica === id);
}

export function membersTable({ version, members }: MembershipStatus): string {
  const rows = members.map(({ replica, incarnation, role, address }) => [
    replica,
    incarnation === 0 ? 'expected' : role,
    incarnation === 0 ? '-' : memberName(replica, incarnation),
    `${address.host}:${address.port}`,
    `${address.pgwire.host}:${address.pgwire.port}`,
  ]);
  const table = [['replica', 'role', 'incarnation', 'peers', 'pgwire'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return [`version ${version}`, ...lines].join('\n');
}
