/** Reads the configuration of a model (`.cfg`), as far as our tools ask for it. Pure. */

export interface Cfg {
  readonly specification: string | null;
  readonly invariants: readonly string[];
  /** What is put in the place of constants and definitions. */
  readonly substitutes: readonly string[];
  /** Constraints on states and on steps. */
  readonly constraints: readonly string[];
}

const SECTION =
  /^(SPECIFICATION|CONSTANTS?|INVARIANTS?|PROPERTY|PROPERTIES|CONSTRAINTS?|ACTION_CONSTRAINTS?|VIEW|SYMMETRY|CHECK_DEADLOCK)\b/;

export function readCfg(text: string): Cfg {
  const sections = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of text.split('\n')) {
    const code = line.replace(/\\\*.*/, '').trim();
    const keyword = SECTION.exec(code)?.[1];
    if (keyword !== undefined) {
      const name = keyword.replace(/IES$/, 'Y').replace(/(?<!Y)S$/, '');
      current = sections.get(name) ?? [];
      sections.set(name, current);
    }
    const rest = keyword === undefined ? code : code.slice(keyword.length).trim();
    if (rest !== '') current.push(rest);
  }
  const words = (name: string): string[] => (sections.get(name) ?? []).flatMap((line) => line.split(/\s+/));
  return {
    specification: words('SPECIFICATION')[0] ?? null,
    invariants: words('INVARIANT'),
    substitutes: (sections.get('CONSTANT') ?? []).flatMap((line) => /<-\s*(\w+)/.exec(line)?.[1] ?? []),
    constraints: [...words('CONSTRAINT'), ...words('ACTION_CONSTRAINT')],
  };
}
