/** Closes a switch: fails to compile if a case is missing, and throws if the server sends what the types rule out. */
export function unreachable(value: never): never {
  throw new Error(`unexpected: ${JSON.stringify(value)}`);
}
