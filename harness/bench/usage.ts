/** What a command line may hold: each mistake is answered by a sentence and the usage, and ends with 2. */

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError */
export function whole(option: string, text: string, max: number, min = 1): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`--${option} must be a whole number from ${min} to ${max}, not "${text}"`);
  }
  return value;
}

/** One of `names`. @throws UsageError */
export function one<Name extends string>(option: string, text: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === text.trim());
  if (found === undefined)
    throw new UsageError(`--${option}: "${text.trim()}" is none of ${names.join(', ')}`);
  return found;
}

/** Of `names`, between commas. @throws UsageError */
export function listed<Name extends string>(option: string, text: string, names: readonly Name[]): Name[] {
  return text.split(',').map((each) => one(option, each, names));
}

/** Numbers between commas. @throws UsageError */
export function counts(option: string, text: string, max: number): number[] {
  return text.split(',').map((each) => whole(option, each.trim(), max));
}
