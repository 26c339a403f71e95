/**
 * What keeps bytes from being WAL. Pure.
 *
 * Whether a fault is an error depends on who reads: in WAL that was chosen it is one (WalFormatError); in the files of a data directory it is how the WAL ends.
 */
import { formatLsn, type Lsn } from '../lsn.ts';

/**
 * `zeros`: nothing was written there. `pageHeader`: of another version, size or address, as in a segment that was used before. `continuation`: a page does not go on with the record that the page before
 * began. `recordHeader`: a length, resource manager or link to the record before that cannot be. `checksum`: of a record. `content`: the parts of a record do not fit its length.
 */
export type WalFaultCode = 'zeros' | 'pageHeader' | 'continuation' | 'recordHeader' | 'checksum' | 'content';

/** `at`: where the page or the record begins. `text`: for people. */
export interface WalFault {
  readonly code: WalFaultCode;
  readonly at: Lsn;
  readonly text: string;
}

export class WalFormatError extends Error {
  override readonly name = 'WalFormatError';
  readonly fault: WalFault;
  constructor(fault: WalFault) {
    super(`The WAL at ${formatLsn(fault.at)} cannot be read: ${fault.text}`);
    this.fault = fault;
  }
}
