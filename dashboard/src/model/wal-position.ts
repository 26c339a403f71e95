/** Positions in the WAL, as numbers and as PostgreSQL writes them. Pure. */

/** Such as `0/3000060`. */
export function formatLsn(position: number): string {
  const high = Math.floor(position / 2 ** 32);
  return `${high.toString(16)}/${(position % 2 ** 32).toString(16)}`.toUpperCase();
}

/** Null: it is none. */
export function parseLsn(text: string): number | null {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(text);
  return match === null ? null : Number.parseInt(match[1]!, 16) * 2 ** 32 + Number.parseInt(match[2]!, 16);
}
