/**
 * What no exhaustive model would notice because it never happens there: actions that are not taken, and invariants that have nothing to say.
 *
 * Responsible for: comparing the specifications with what the manifest says that models take and see. The runner checks that they do. Only models that
 * `npm test` runs to their end count: a random behaviour may miss anything. Pure: texts in, names out.
 */
import { readCfg } from './cfg.ts';
import type { Model } from './manifest.ts';
import { specActions } from './parity.ts';

/** Which sight (manifest, `sees`) shows that an invariant's condition is met, where the sight is not named after the invariant itself ("Agreement: ..."). */
export type Antecedents = Readonly<Record<string, string>>;

/** What says something of every state, whatever has happened, or says nothing at all (Sights...). */
const UNCONDITIONAL = /^(TypeOK|AtMostOne|Inductive|Sights\w*)$/;

export interface Checked {
  readonly model: Model;
  readonly cfg: string;
}

export function isExhaustive({ kind, size }: Model): boolean {
  return kind === 'check' && size !== 'nightly';
}

/**
 * The names of a module's actions: those that set `act`, or else those that `Next` names. An operator that is named there is an action if it, or
 * what it uses, says what comes next.
 */
export function actionsOf(text: string): readonly string[] {
  const own = specActions(text);
  if (own.length > 0) return own;
  const bodies = new Map<string, string>();
  const code = text.replace(/\(\*[\s\S]*?\*\)|\\\*.*/g, '');
  for (const [, name = '', body = ''] of code.matchAll(
    /^([A-Z]\w*)(?:\([^)\n]*\))? ==((?:.*\n)(?:(?![A-Z]\w*(?:\([^)\n]*\))? ==|-----|=====).*\n)*)/gm,
  ))
    bodies.set(name, body);
  const changes = (name: string, seen: ReadonlySet<string>): boolean => {
    const body = bodies.get(name);
    if (body === undefined || seen.has(name)) return false;
    if (/\w'/.test(body)) return true;
    return [...body.matchAll(/\b[A-Z]\w*/g)].some(([used]) => changes(used, new Set([...seen, name])));
  };
  const named = [...(bodies.get('Next') ?? '').matchAll(/\b[A-Z]\w*/g)].map(([name]) => name);
  return [...new Set(named)].filter((name) => changes(name, new Set()));
}

/** Actions of a module that no exhaustive model says to take. `models`: those whose module includes it. */
export function idleActions(text: string, models: readonly Model[]): readonly string[] {
  const taken = new Set(models.filter(isExhaustive).flatMap(({ takes }) => takes));
  return actionsOf(text).filter((action) => !taken.has(action));
}

/** Invariants of exhaustive models of which none that checks it sees its condition met. */
export function idleInvariants(checked: readonly Checked[], antecedents: Antecedents): readonly string[] {
  const all = new Set<string>();
  const met = new Set<string>();
  for (const { model, cfg } of checked.filter((each) => isExhaustive(each.model))) {
    for (const invariant of readCfg(cfg).invariants) {
      all.add(invariant);
      const isMet = model.sees.some(
        (sight) => sight === antecedents[invariant] || sight.startsWith(`${invariant}: `),
      );
      if (isMet) met.add(invariant);
    }
  }
  return [...all].filter((invariant) => !met.has(invariant) && !UNCONDITIONAL.test(invariant));
}
