/**
 * Counts what each reader of clients' text does with hostile texts of several lengths, and tells it as JSON: by reader and length, steps for each byte; and as `work`, for each byte of the worst text, what it costs the
 * thread. A process of its own, as V8 counts only what it compiles from the beginning on.
 *
 * A step is one time that a block of the server's code is executed (V8's block coverage), or one character or byte that a function of the language looks at or copies. What a regular expression does with one character
 * is judged by itself (judge.ts), and counts as one step. No clock is read.
 */
import { Session } from 'node:inspector/promises';
import { countNative, nativeCalls, nativeSteps } from './native-steps.ts';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
const { readers } = await import('./readers.ts');
const { loadParser } = await import('../../server/src/determinism/parser.ts');
await loadParser();
countNative();

/** Repeated to the length that is wanted. */
const pieces = [
  'a',
  '0af',
  '.a',
  'a.b ',
  "'",
  "''",
  '"',
  ' ',
  '\t\n',
  '--',
  '-- \n',
  '--\n',
  '/*',
  '*/',
  '/**/',
  '/*a',
  '$',
  '$a$',
  '$$',
  '(',
  '()',
  '(,',
  ',',
  ', ',
  ';',
  ' ;',
  '\\',
  '\0',
  '\0Q',
  'set ',
  'set a.',
  "set a.b='",
  'set_config(',
  "set_config('a.b',",
  'create/*',
  'create ',
  'barista.',
  'barista/**/',
  'password',
  'PASSWORD /*',
  "password=''",
  'gmt ',
  'now ',
  '[now,',
  "E'",
  'begin ',
  'begin read only, ',
  'commit ',
  '\u00a0',
  '\u00e9',
  '%',
  'n=,',
  ',a=b',
  'prepare ',
  'with hold ',
  'create temp or replace ',
  'execute ',
  'reset all ',
  '-c ',
  '127.',
] as const; // prettier-ignore
/** Of these the longer lengths suffice: what is not linear shows itself between the short ones. */
const long = ['set a.'] as const;
const longest = ['0af'] as const;

/** Texts that are all statements, comments, names or words. Those that made others wait for seconds are among them. */
const busy = [
  ';',
  'a;\n',
  '; s',
  'set;',
  'x set;',
  'select;',
  'begin;',
  '\n',
  '--\n',
  '-- \n',
  '/**/',
  '*/',
  'a.b ',
  "'a.b' ",
  "E'",
  '$a$',
  'set a.b=1;',
  "set a.b='",
  'barista.',
  'barista/**/',
  'create ',
] as const; // prettier-ignore
/** Several pieces of what a socket brings. */
const busyBytes = 163_840;
/** What a block of code, a call of the language and a character that such a call looks at cost, against each other. */
const callWork = 30;
const characterWork = 1 / 8;

/** A message can be as long as that. */
const ofStreams: ReadonlySet<string> = new Set([
  'pgwire/statement-reader.ts StatementReader',
  'pgwire/bind-parameters.ts BindParameters',
  'gateways/pgwire/kept/session-state.ts SessionState',
  'gateways/pgwire/session/client-input.ts ClientInput',
  'gateways/thrift/codec/message-reader.ts MessageReader',
]);
const lengths = { short: 1024, middle: 4096, long: 1_048_576, longest: 16_777_216 } as const;

function textsOf(length: number): Buffer[] {
  const some = length === lengths.longest ? longest : length === lengths.long ? long : pieces;
  return some.map((piece) => Buffer.alloc(length, piece, 'latin1'));
}

async function stepsSince(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  let steps = 0;
  for (const { url, functions } of result) {
    if (!url.includes('/server/src/')) continue;
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  }
  return steps;
}

export interface Counted {
  /** For each byte, by the length of the texts. */
  readonly steps: Readonly<Record<string, number>>;
  readonly work: number;
}

/** For each byte, of the text for which it is most. */
async function workOf(feed: (text: Buffer) => unknown): Promise<number> {
  let most = 0;
  for (const piece of busy) {
    const text = Buffer.alloc(busyBytes, piece, 'latin1');
    await stepsSince();
    const before = { calls: nativeCalls(), steps: nativeSteps() };
    feed(text);
    const native = (nativeCalls() - before.calls) * callWork + (nativeSteps() - before.steps) * characterWork;
    most = Math.max(most, ((await stepsSince()) + native) / busyBytes);
  }
  return most;
}

const counted: Record<string, Counted> = {};
for (const [name, feed] of Object.entries(readers)) {
  const steps: Record<string, number> = {};
  for (const [label, length] of Object.entries(lengths)) {
    if (length === lengths.longest && !ofStreams.has(name)) continue;
    const texts = textsOf(length);
    await stepsSince();
    const native = nativeSteps();
    for (const text of texts) feed(text);
    const all = (await stepsSince()) + nativeSteps() - native;
    steps[label] = all / texts.length / length;
  }
  counted[name] = { steps, work: await workOf(feed) };
}
process.stdout.write(JSON.stringify(counted));
