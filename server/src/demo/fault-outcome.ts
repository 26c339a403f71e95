/** What came of a fault that a person asked for: a code and words for those who are refused. */
export type FaultOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };

export function refused(code: string, message: string): FaultOutcome {
  return { ok: false, code, message };
}
