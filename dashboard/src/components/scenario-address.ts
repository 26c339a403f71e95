/** Which scenario the page's address asks for: `#scenario=leader-dies`, or beside what else it says: `#sim?seed=7&scenario=leader-dies`. */

const written = /[#&?]scenario=([\w-]+)/;

/** Null: none. */
export function scenarioInAddress(): string | null {
  return written.exec(location.hash)?.[1] ?? null;
}

/** The same address, with that scenario, or with none. */
export function addressWithScenario(hash: string, scenario: string | null): string {
  const rest = hash.replace(/&scenario=[\w-]+/, '').replace(/^#scenario=[\w-]+/, '');
  if (scenario === null) return rest;
  return rest.startsWith('#sim?') ? `${rest}&scenario=${scenario}` : `#scenario=${scenario}`;
}

export function writeScenario(scenario: string | null): void {
  if (scenarioInAddress() === scenario) return;
  const hash = addressWithScenario(location.hash, scenario);
  history.replaceState(null, '', hash === '' ? location.pathname : hash);
}
