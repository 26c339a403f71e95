/** Of node:net what rules of access need, which no simulated replica has. */
export function isIP(_text: string): number {
  return 0;
}
