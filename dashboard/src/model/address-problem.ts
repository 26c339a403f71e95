/** What is wrong with what a page's address asks for, in words: what that was, and what there is. Pure; of a simulated run its own reader tells (`run/simulated/run-address`), of models of the specifications the view that has their list. */

export interface Known {
  readonly views: readonly string[];
  readonly scenarios: readonly string[];
  /** Rules that can be taken out. */
  readonly variants: readonly string[];
}

/** Of what somebody wrote, so much is said again. */
const saidCharsMax = 60;

/** Null: there is nothing wrong. */
export function addressProblem(hash: string, { views, scenarios, variants }: Known): string | null {
  const [name = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const scenario = /[#&?]scenario=([^&]*)/.exec(hash)?.[1] ?? null;
  const variant = /[?&]variant=([^&]*)/.exec(hash)?.[1] ?? null;
  const view = /[&?]view=([^&]*)/.exec(hash)?.[1] ?? viewNamed(name);
  const problems = [
    view === null || views.includes(view) ? null : unknown('view', view, views),
    scenario === null || scenarios.includes(scenario) ? null : unknown('scenario', scenario, scenarios),
    variant === null || variants.includes(variant) ? null : unknown('rule to take out', variant, variants),
    ...(name === 'spec' || view === 'spec' ? specProblems(query) : []),
  ].filter((problem) => problem !== null);
  return problems.length === 0 ? null : problems.join(' ');
}

/** Null: the address names none. */
function viewNamed(name: string): string | null {
  return name === '' || name === 'sim' || name.startsWith('scenario=') ? null : name.split('&', 1)[0]!;
}

const specModes = ['bugs', 'run', 'hand'];

function specProblems(query: string): readonly (string | null)[] {
  const given = new URLSearchParams(query);
  const mode = given.get('mode');
  const step = given.get('step');
  const walk = given.get('walk');
  return [
    mode === null || specModes.includes(mode) ? null : unknown('mode of the specifications', mode, specModes),
    step === null || /^\d{1,5}$/.test(step)
      ? null
      : `The step ${said(step)} is no number: the first one is shown.`,
    walk === null || /^\d{1,5}(?:\.\d{1,5})*$/.test(walk)
      ? null
      : `The walk ${said(walk)} is no list of choices, as 0.2.1 is: it is left out.`,
  ];
}

/** `what` of that name does not exist, and these do. */
export function unknown(what: string, asked: string, there: readonly string[]): string {
  return `There is no ${what} named ${said(asked)}. There ${there.length === 1 ? 'is' : 'are'}: ${there.join(', ')}.`;
}

function said(text: string): string {
  const read = decoded(text);
  return `“${read.length > saidCharsMax ? `${read.slice(0, saidCharsMax)}…` : read}”`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Of very many those that begin most like what was asked for, and how many others there are. */
export function closest(asked: string, there: readonly string[], most: number): readonly string[] {
  if (there.length <= most) return there;
  const alike = (name: string): number => {
    const differs = name.split('').findIndex((letter, at) => letter !== asked[at]);
    return differs === -1 ? name.length : differs;
  };
  const best = there.toSorted((one, other) => alike(other) - alike(one)).slice(0, most);
  return [...best, `and ${there.length - most} others`];
}
