/**
 * The colour of a ballot: the same wherever and whenever it is shown, and unlike that of the ballots next to it. Pure.
 *
 * Keeps away from the red that says that something is broken.
 */
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';

export type Scheme = 'light' | 'dark';

/** Successive rounds go round the circle by the golden angle, so that the next few are all far from one another. */
const roundDegrees = 137.508;
/** Two replicas may stand with the same round. */
const replicaDegrees = 61;
/** What is left of the circle without the reds. */
const hueFrom = 55;
const hueSpan = 305;

/** Null: of no ballot. */
export function ballotHue({ round, replica }: Ballot): number | null {
  if (round === 0) return null;
  const turned = (round * roundDegrees + numberOf(replica) * replicaDegrees) % 360;
  return Math.round(hueFrom + (turned * hueSpan) / 360) % 360;
}

export function ballotColor(ballot: Ballot, scheme: Scheme): string {
  const hue = ballotHue(ballot);
  if (hue === null) return scheme === 'light' ? '#a8a19a' : '#6b635c';
  return scheme === 'light' ? `oklch(0.58 0.14 ${hue})` : `oklch(0.76 0.12 ${hue})`;
}

/** On a ground of `ballotColor`. */
export function onBallot(scheme: Scheme): string {
  return scheme === 'light' ? '#ffffff' : '#161412';
}

/** For style sheets, in both schemes at once. */
export function ballotCss(ballot: Ballot): string {
  return `light-dark(${ballotColor(ballot, 'light')}, ${ballotColor(ballot, 'dark')})`;
}

/** `r3` and `r3.2`: 3; of names without a number, one made of their letters. */
function numberOf(replica: string): number {
  const digits = /\d+/.exec(replica)?.[0];
  if (digits !== undefined) return Number(digits);
  return Array.from(replica).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 0);
}
