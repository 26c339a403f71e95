/** Checks the CRC-32C of each record that a walk comes by. Pure. It keeps nothing of a record but its header. */
import type { Lsn } from '../lsn.ts';
import { crcAdd, crcEnd, crcStart } from './crc32c.ts';
import { readU32 } from './little-endian.ts';
import { offsetOf, recordHeaderBytes } from './record-header.ts';
import type { RecordObserver } from './record-observer.ts';
import type { WalFault } from './wal-fault.ts';

export class RecordChecksum implements RecordObserver {
  private start = 0 as Lsn;
  private readonly header = new Uint8Array(recordHeaderBytes);
  private headerTaken = 0;
  private crc = crcStart;

  begin(start: Lsn): void {
    this.start = start;
    this.headerTaken = 0;
    this.crc = crcStart;
  }

  part(bytes: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to && this.headerTaken < recordHeaderBytes) {
      this.header[this.headerTaken] = bytes[at]!;
      this.headerTaken += 1;
      at += 1;
    }
    // What follows the header comes first in the sum.
    this.crc = crcAdd(this.crc, bytes, at, to);
  }

  end(): WalFault | null {
    const crc = crcEnd(crcAdd(this.crc, this.header, 0, offsetOf.checksum));
    const expected = readU32(this.header, offsetOf.checksum);
    if (crc === expected) return null;
    const text = `the record's checksum is ${crc.toString(16)}, and it says ${expected.toString(16)}`;
    return { code: 'checksum', at: this.start, text };
  }

  giveUp(): void {
    this.headerTaken = 0;
  }
}
