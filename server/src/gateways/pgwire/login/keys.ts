/** What gateways of one cluster know and others do not: made of the cluster's secret, each key for one purpose, so that none tells another. */
import { createHmac } from 'node:crypto';

export interface GatewayKeys {
  /** Of what roles that do not exist seem to have on record. */
  readonly mock: Buffer;
  /** Of what gateways prove to each other. */
  readonly tunnel: Buffer;
}

export function gatewayKeys(clusterSecret: string): GatewayKeys {
  const keyFor = (purpose: string): Buffer => createHmac('sha256', clusterSecret).update(purpose).digest();
  return { mock: keyFor('barista sql roles that are not there'), tunnel: keyFor('barista sql tunnel') };
}
