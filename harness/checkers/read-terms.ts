/**
 * How current a read asked to be and where it was answered, as histories have it; and which reads what such a read has shown binds. Pure.
 *
 * A call without terms is at the leader, and must have everything. `currentAt` of a call (history.ts) says what of the history a read must have.
 */
export const readModes = ['linearizable', 'bounded', 'snapshot'] as const;
export type ReadMode = (typeof readModes)[number];

export interface ReadTerms {
  readonly mode: ReadMode;
  /** How old what a bounded read shows may be; null for others. */
  readonly stalenessMaxMs: number | null;
  readonly replica: string;
  /** Of what that replica's PostgreSQL was when the session began. A session does not outlive that. */
  readonly by: 'leader' | 'follower';
  /** Within a session nothing goes back. */
  readonly session: number;
}

export interface ReadRules {
  /** In these modes a read at a follower shows nothing that a later read at the leader may miss. Others, at followers, may miss nothing that any read has shown. */
  readonly leaderHasWhatFollowersShow: readonly ReadMode[];
}

/** What docs/reads.md states: what a linearizable read has found at a follower is told when the leader shows it; bounded and snapshot reads are told at once. */
export const statedReadRules: ReadRules = { leaderHasWhatFollowersShow: ['linearizable'] };

interface WithTerms {
  readonly terms: ReadTerms | null;
}

export function isAtFollower({ terms }: WithTerms): boolean {
  return terms?.by === 'follower';
}

/** What it has shown must be in every later read that is to be current, the leader's too. */
export function bindsLeader(call: WithTerms, { leaderHasWhatFollowersShow }: ReadRules): boolean {
  return !isAtFollower(call) || leaderHasWhatFollowersShow.includes(call.terms!.mode);
}

export function describeTerms({ mode, stalenessMaxMs, replica, by, session }: ReadTerms): string {
  const bound = stalenessMaxMs === null ? '' : ` within ${stalenessMaxMs} ms`;
  return `${mode}${bound} at ${replica}, ${by === 'leader' ? 'the leader' : 'a follower'}, in session ${session}`;
}
