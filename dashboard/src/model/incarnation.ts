/**
 * Names of incarnations. A replica that lost its log is another member to consensus from then on: `r2`, then `r2.2`. Events carry these names; the page
 * shows replicas, so everything that is kept by replica is kept under the replica's own name.
 */

/** Names of replicas hold no dot. */
export function replicaOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? name : name.slice(0, dot);
}

export function incarnationName(replica: string, incarnation: number): string {
  return incarnation === 1 ? replica : `${replica}.${incarnation}`;
}
