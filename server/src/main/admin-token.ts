/** What proves to a replica that an operator asks: whoever can read its configuration knows the cluster's secret. */
import { createHmac } from 'node:crypto';

/** Of the secret, and not the secret itself: who overhears it cannot speak as a peer. */
export function adminToken(clusterSecret: string): string {
  return createHmac('sha256', clusterSecret).update('barista admin').digest('hex');
}

export function bearer(clusterSecret: string): { readonly authorization: string } {
  return { authorization: `Bearer ${adminToken(clusterSecret)}` };
}
