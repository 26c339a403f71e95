/**
 * Reads what Prometheus reads: the text format of metrics, strictly. For tests of what is exposed, and of what asks for it.
 */

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** With `_bucket`, `_sum` or `_count` behind the family's, of a histogram. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const nameForm = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/** @throws Error at the first line that is not in the format */
export function readExposition(text: string): readonly Family[] {
  const families: (Family & { samples: Sample[] })[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const comment = new RegExp(`^# (HELP|TYPE) (${nameForm}) (.*)$`).exec(line);
    const last = families.at(-1);
    if (comment !== null) {
      const [, what, name = '', rest = ''] = comment;
      if (what === 'HELP') {
        if (families.some((family) => family.name === name)) throw new Error(`${name} comes twice`);
        families.push({ name, help: rest, type: '', samples: [] });
      } else {
        if (last === undefined || last.name !== name) throw new Error(`TYPE without HELP: ${line}`);
        families[families.length - 1] = { ...last, type: rest };
      }
      continue;
    }
    const sample = readSample(line);
    if (last === undefined || !belongs(sample.name, last)) throw new Error(`a sample of no family: ${line}`);
    last.samples.push(sample);
  }
  return families;
}

function belongs(name: string, { name: family, type }: Family): boolean {
  if (type !== 'histogram' && type !== 'summary') return name === family;
  return ['_bucket', '_sum', '_count', ''].some((suffix) => name === `${family}${suffix}`);
}

function readSample(line: string): Sample {
  const parts = new RegExp(`^(${nameForm})(?:\\{(.*)\\})? (\\S+)$`).exec(line);
  if (parts === null) throw new Error(`not a sample: ${line}`);
  const [, name = '', inner = '', value = ''] = parts;
  return { name, labels: readLabels(inner), value: numberOf(value) };
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  let at = 0;
  while (at < text.length) {
    const found = label.exec(text);
    if (found === null) throw new Error(`not labels: ${text}`);
    const [, name = '', value = ''] = found;
    labels[name] = value.replaceAll(/\\([\\"n])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
    at = label.lastIndex;
  }
  return labels;
}

function numberOf(text: string): number {
  const special: Readonly<Record<string, number>> = {
    '+Inf': Number.POSITIVE_INFINITY,
    '-Inf': Number.NEGATIVE_INFINITY,
    NaN: Number.NaN,
    Nan: Number.NaN,
  };
  const value = special[text] ?? Number(text);
  if (Number.isNaN(value) && special[text] === undefined) throw new Error(`not a number: ${text}`);
  return value;
}
