/** What a change of the members makes of the group's quorum, in words for who is about to make it. Pure. */
import type { Member } from './members-view.ts';

export interface QuorumAfter {
  readonly voters: number;
  readonly quorum: number;
  /** How many of them may fail. */
  readonly spare: number;
}

export function quorumWithout(members: readonly Member[], replica: string): QuorumAfter {
  const voters = members.filter((member) => member.role === 'voter' && member.replica !== replica).length;
  const quorum = Math.floor(voters / 2) + 1;
  return { voters, quorum, spare: Math.max(0, voters - quorum) };
}

export function quorumWords({ voters, quorum, spare }: QuorumAfter): string {
  const left = voters === 1 ? '1 voter is left' : `${voters} voters are left`;
  const may =
    spare === 0
      ? 'none of them may fail'
      : spare === 1
        ? 'one of them may fail'
        : `${spare} of them may fail`;
  return `${left}, of which ${quorum} ${quorum === 1 ? 'is' : 'are'} a quorum: ${may}.`;
}
