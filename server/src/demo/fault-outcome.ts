/** What came of a fault that a person asked for: words for what was done; a code and words for those who are refused. */
import type { FaultAnswer } from '../api/status.ts';

export interface Refusal {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
}
export type FaultOutcome = FaultAnswer | Refusal;
/** What came of it at one machine. */
export type MachineOutcome = { readonly ok: true } | Refusal;

export function done(message: string): FaultAnswer {
  return { ok: true, message };
}

export function refused(code: string, message: string): Refusal {
  return { ok: false, code, message };
}
