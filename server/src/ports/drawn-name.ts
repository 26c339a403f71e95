/** A name that nobody else draws: hexadecimal digits of so many random bytes, from the source that both Node.js and browsers have. */
export function drawnName(bytes: number): string {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes));
  return [...drawn].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
