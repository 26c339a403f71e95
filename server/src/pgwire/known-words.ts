/**
 * Recognizes the words that tell the kind of a statement, byte by byte. Pure.
 *
 * Invariant: it makes no string: what a text costs for each of its words is a step in a table for each byte.
 */
import { lower } from './sql-bytes.ts';
import { knownWords } from './statement-kinds.ts';

const letterA = 0x61;
const letterZ = 0x7a;
const letters = letterZ - letterA + 1;
const none = -1;

/** The steps from the beginning of a word, a row for each: where each letter leads, and which word has ended there. */
const next: number[] = [];
const ends: (string | null)[] = [];

function newStep(): number {
  for (let letter = 0; letter < letters; letter += 1) next.push(none);
  return ends.push(null) - 1;
}

newStep();
for (const word of knownWords) {
  let step = 0;
  for (const letter of Buffer.from(word, 'latin1')) {
    const place = step * letters + letter - letterA;
    if (next[place] === none) next[place] = newStep();
    step = next[place]!;
  }
  ends[step] = word;
}
const steps = Int16Array.from(next);
/** END begins so. */
const stepOfE = steps[0x65 - letterA]!;

export class KnownWord {
  private step = none;

  begin(byte: number): void {
    this.step = 0;
    this.add(byte);
  }

  add(byte: number): void {
    if (this.step === none) return;
    const letter = lower(byte);
    this.step = letter < letterA || letter > letterZ ? none : steps[this.step * letters + letter - letterA]!;
  }

  /** It is an E, and nothing else. */
  get isE(): boolean {
    return this.step === stepOfE;
  }

  /** Null: it is another one. */
  get known(): string | null {
    return this.step === none ? null : ends[this.step]!;
  }
}
