/** As much of node:path as configurations need, where paths are absolute already, or under an absolute one. */
export function resolve(...paths: readonly string[]): string {
  const from = paths.findLastIndex((path) => path.startsWith('/'));
  const parts: string[] = [];
  for (const part of paths.slice(Math.max(0, from)).join('/').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
