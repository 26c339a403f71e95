/**
 * Counts what each reader of clients' text does with hostile texts of several lengths, and tells it as JSON: steps for each byte, by reader and length. A process of its own, as V8 counts only what it compiles from the beginning on.
 *
 * A step is one time that a block of the server's code is executed (V8's block coverage), or one character or byte that a function of the language looks at or copies. What a regular expression does with one character
 * is judged by itself (judge.ts), and counts as one step. No clock is read.
 */
import { Session } from 'node:inspector/promises';
import { countNative, nativeSteps } from './native-steps.ts';

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

const counted: Record<string, Record<string, number>> = {};
for (const [name, feed] of Object.entries(readers)) {
  counted[name] = {};
  for (const [label, length] of Object.entries(lengths)) {
    if (length === lengths.longest && !ofStreams.has(name)) continue;
    const texts = textsOf(length);
    await stepsSince();
    const native = nativeSteps();
    for (const text of texts) feed(text);
    const steps = (await stepsSince()) + nativeSteps() - native;
    counted[name][label] = steps / texts.length / length;
  }
}
process.stdout.write(JSON.stringify(counted));
