/** What the harness's commands have in common: a command line that is wrong is answered by one sentence and the usage, and ends with 2. */

/** Ends the process if `read` throws, with what it says. */
export function orUsage<Options>(usage: string, read: () => Options): Options {
  try {
    return read();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

/** @throws Error if it is none */
export function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${name} must be a positive whole number, not ${text}`);
  return value;
}
