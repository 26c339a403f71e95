/** Reads what test programs write: the lines of PostgreSQL's pg_regress, and the XML of pytest and mocha. Pure. */
import type { Outcome } from './outcome.ts';

/** `ok 12    + boolean     98 ms`; `+` where several ran at once. */
const regressLine = /^(not )?ok \d+\s+[-+] (\S+)\s+\d+ ms$/;

/** Without evidence: what pg_regress compares is in files beside. */
export function parsePgRegress(output: string): readonly Pick<Outcome, 'name' | 'result'>[] {
  return output.split('\n').flatMap((line) => {
    const match = regressLine.exec(line.trim());
    if (match === null) return [];
    return [{ name: match[2] ?? '', result: match[1] === undefined ? ('pass' as const) : ('fail' as const) }];
  });
}

const testcase = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const attribute = /(\w+)="([^"]*)"/g;

/** Evidence is the message of the failure, without what differs from run to run. */
export function parseJunit(xml: string): readonly Outcome[] {
  return [...xml.matchAll(testcase)].map(([, attributes = '', body = '']) => {
    const { classname = '', name = '' } = attributesOf(attributes);
    const failed = /<(?:failure|error)\b([^>]*)>([^<]*)/.exec(body);
    const full = `${classname}::${name}`;
    if (failed !== null) {
      const { message = firstLine(plain(failed[2] ?? '')) } = attributesOf(failed[1] ?? '');
      return { name: full, result: 'fail', evidence: steady(message) };
    }
    return { name: full, result: body.includes('<skipped') ? 'skip' : 'pass', evidence: '' };
  });
}

/** mocha gives no message of its own, but the error with the way to it. */
function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(attribute)].map(([, key = '', value = '']) => [key, plain(value)]),
  );
}

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  amp: '&',
};

function plain(text: string): string {
  return text.replaceAll(/&(#?\w+);/g, (whole, name: string) => {
    if (name.startsWith('#x')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
    return entities[name] ?? whole;
  });
}

/** Addresses of objects, ports, process ids and times are other ones in every run. */
export function steady(text: string): string {
  return text
    .replaceAll(/0x[0-9a-f]{4,}/gi, '0x…')
    .replaceAll(/\bport\b\s*[:=]?\s*"?\d+"?/gi, 'port …')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:…')
    .replaceAll(/\d+(\.\d+)?/g, (digits) => (digits.length > 3 ? '…' : digits));
}
