/** Which counterexample is looked at, and where in it, in the page's address: `#spec?model=BugLease-no-wait&step=4`, beside whatever else the address says. */
import { viewInAddress } from '../components/use-view.ts';

const modes = ['bugs', 'run', 'hand'] as const;

export type SpecMode = (typeof modes)[number];

export interface SpecPlace {
  /** Counterexamples of bugs, the run that the page shows, or a model by hand. */
  readonly mode: SpecMode;
  /** Null: none is named. */
  readonly model: string | null;
  /** From 0. */
  readonly step: number;
  /** By hand from there on: of the next states each time the one of that number. */
  readonly walk: readonly number[];
}

/** A longer walk is let go of: an address has to fit. */
const WALK_MAX = 400;

export function readSpecPlace(hash: string = location.hash): SpecPlace {
  const given = new URLSearchParams(hash.split('?', 2)[1] ?? '');
  const step = Number(given.get('step') ?? 0);
  const mode = modes.find((one) => one === given.get('mode')) ?? 'bugs';
  return {
    mode,
    model: given.get('model'),
    step: Number.isInteger(step) && step > 0 ? step : 0,
    walk: walkIn(given.get('walk') ?? ''),
  };
}

export function addressOfPlace(hash: string, { mode, model, step, walk }: SpecPlace): string {
  const [name = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const rest = query.split('&').filter((part) => part !== '' && !/^(?:mode|model|step|walk)=/.test(part));
  const own = [
    ...(mode === 'bugs' ? [] : [`mode=${mode}`]),
    ...(model === null ? [] : [`model=${model}`, `step=${step}`]),
    ...(walk.length === 0 ? [] : [`walk=${walk.slice(0, WALK_MAX).join('.')}`]),
  ];
  const all = [...rest, ...own];
  return `#${name}${all.length === 0 ? '' : `?${all.join('&')}`}`;
}

/** Where an address leads whoever is at `from`: the same place, as it is, where it says nothing else, or is of another view. */
export function placeFrom(from: SpecPlace, hash: string): SpecPlace {
  if (viewInAddress(hash) !== 'spec') return from;
  const to = readSpecPlace(hash);
  return addressOfPlace('#spec', to) === addressOfPlace('#spec', from) ? from : to;
}

export function writeSpecPlace(place: SpecPlace): void {
  history.replaceState(null, '', addressOfPlace(location.hash, place));
}

function walkIn(text: string): readonly number[] {
  if (!/^\d{1,5}(?:\.\d{1,5})*$/.test(text)) return [];
  return text.split('.').slice(0, WALK_MAX).map(Number);
}
