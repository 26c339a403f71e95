/** Which counterexample is looked at, and where in it, in the page's address: `#spec?model=BugLease-no-wait&step=4`, beside whatever else the address says. */

export interface SpecPlace {
  /** Null: none is named. */
  readonly model: string | null;
  /** From 0. */
  readonly step: number;
}

export function readSpecPlace(hash: string = location.hash): SpecPlace {
  const given = new URLSearchParams(hash.split('?', 2)[1] ?? '');
  const step = Number(given.get('step') ?? 0);
  return { model: given.get('model'), step: Number.isInteger(step) && step > 0 ? step : 0 };
}

export function addressOfPlace(hash: string, { model, step }: SpecPlace): string {
  const [name = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const rest = query.split('&').filter((part) => part !== '' && !/^(?:model|step)=/.test(part));
  const own = model === null ? [] : [`model=${model}`, `step=${step}`];
  const all = [...rest, ...own];
  return `#${name}${all.length === 0 ? '' : `?${all.join('&')}`}`;
}

export function writeSpecPlace(place: SpecPlace): void {
  history.replaceState(null, '', addressOfPlace(location.hash, place));
}
