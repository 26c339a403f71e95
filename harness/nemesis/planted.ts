export async function runPlanted(_names: readonly string[], _say: (line: string) => void): Promise<number> {
  return 1;
}
