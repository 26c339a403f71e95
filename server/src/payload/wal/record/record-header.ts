/**
 * The header of a WAL record. Pure. Source: src/include/access/xlogrecord.h of PostgreSQL.
 *
 *   u32 length in all, u32 transaction id, u64 where the record before begins, u8 info, u8 resource manager, 2 bytes unused, u32 CRC-32C
 *
 * A record begins at a multiple of 8, so that its length is never cut by the end of a page; the rest of its header may be.
 */

export const recordHeaderBytes = 24;
export const offsetOf = { length: 0, xid: 4, previous: 8, info: 16, manager: 17, checksum: 20 } as const;
/** What a record's info says of the operation; the lower bits are the same for all resource managers. */
export const operationMask = 0xf0;

const builtInManagers = 22;
const firstCustomManager = 128;

export function isManager(id: number): boolean {
  return id < builtInManagers || id >= firstCustomManager;
}

/** A record after which the rest of its segment is left empty. */
export function isSwitch(manager: number, info: number): boolean {
  return manager === 0 && (info & operationMask) === 0x40;
}

export function alignedRecordBytes(length: number): number {
  return Math.ceil(length / 8) * 8;
}
