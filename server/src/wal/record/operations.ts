/**
 * The names of resource managers and of what their records do, as PostgreSQL's own tools print them. Pure. Source: the `rm_identify` functions of PostgreSQL 15 to 18, in src/backend/access/rmgrdesc.
 *
 * A manager's operations are in the order of their numbers, 16 apart, from 0 on; '' where there is none.
 */
import type { PostgresVersion } from './page-header.ts';
import { operationMask } from './record-header.ts';

interface Manager {
  readonly name: string;
  readonly operations: readonly string[];
  /** The highest bit of the number is no part of it: with these operations it says that a page is made anew (`+INIT`), with others nothing that has a name. */
  readonly initBit?: readonly string[];
}

const pruning = ['PRUNE', 'VACUUM', 'FREEZE_PAGE'];
const pruningSince17 = ['PRUNE_ON_ACCESS', 'PRUNE_VACUUM_SCAN', 'PRUNE_VACUUM_CLEANUP'];

function heap2(version: PostgresVersion): Manager {
  const operations = ['REWRITE', ...(version < 17 ? pruning : pruningSince17), 'VISIBLE', 'MULTI_INSERT'];
  return { name: 'Heap2', operations: [...operations, 'LOCK_UPDATED', 'NEW_CID'], initBit: ['MULTI_INSERT'] };
}

const xlog = words(
  'CHECKPOINT_SHUTDOWN CHECKPOINT_ONLINE NOOP NEXTOID SWITCH BACKUP_END PARAMETER_CHANGE RESTORE_POINT FPW_CHANGE END_OF_RECOVERY FPI_FOR_HINT FPI - OVERWRITE_CONTRECORD CHECKPOINT_REDO',
);
const transaction = words('COMMIT PREPARE ABORT COMMIT_PREPARED ABORT_PREPARED ASSIGNMENT INVALIDATION');
const multiXact = words('ZERO_OFF_PAGE ZERO_MEM_PAGE CREATE_ID TRUNCATE_ID');
const heap = words('INSERT DELETE UPDATE TRUNCATE HOT_UPDATE HEAP_CONFIRM LOCK INPLACE');
const btree = words(
  'INSERT_LEAF INSERT_UPPER INSERT_META SPLIT_L SPLIT_R INSERT_POST DEDUP DELETE UNLINK_PAGE UNLINK_PAGE_META NEWROOT MARK_PAGE_HALFDEAD VACUUM REUSE_PAGE META_CLEANUP',
);
const hash = words(
  'INIT_META_PAGE INIT_BITMAP_PAGE INSERT ADD_OVFL_PAGE SPLIT_ALLOCATE_PAGE SPLIT_PAGE SPLIT_COMPLETE MOVE_PAGE_CONTENTS SQUEEZE_PAGE DELETE SPLIT_CLEANUP UPDATE_META_PAGE VACUUM_ONE_PAGE',
);
const gin = words(
  '- CREATE_PTREE INSERT SPLIT VACUUM_PAGE DELETE_PAGE UPDATE_META_PAGE INSERT_LISTPAGE DELETE_LISTPAGE VACUUM_DATA_LEAF_PAGE',
);
const gist = words('PAGE_UPDATE DELETE PAGE_REUSE PAGE_SPLIT - - PAGE_DELETE ASSIGN_LSN');
const spGist = words(
  '- ADD_LEAF MOVE_LEAFS ADD_NODE SPLIT_TUPLE PICKSPLIT VACUUM_LEAF VACUUM_ROOT VACUUM_REDIRECT',
);
const brin = words('CREATE_INDEX INSERT UPDATE SAMEPAGE_UPDATE REVMAP_EXTEND DESUMMARIZE');

function managersOf(version: PostgresVersion): readonly Manager[] {
  return [
    { name: 'XLOG', operations: xlog },
    { name: 'Transaction', operations: transaction, initBit: [] },
    { name: 'Storage', operations: words('- CREATE TRUNCATE') },
    { name: 'CLOG', operations: words('ZEROPAGE TRUNCATE') },
    { name: 'Database', operations: words('CREATE_FILE_COPY CREATE_WAL_LOG DROP') },
    { name: 'Tablespace', operations: words('CREATE DROP') },
    { name: 'MultiXact', operations: multiXact },
    { name: 'RelMap', operations: words('UPDATE') },
    { name: 'Standby', operations: words('LOCK RUNNING_XACTS INVALIDATIONS') },
    heap2(version),
    { name: 'Heap', operations: heap, initBit: ['INSERT', 'UPDATE', 'HOT_UPDATE'] },
    { name: 'Btree', operations: btree },
    { name: 'Hash', operations: hash },
    { name: 'Gin', operations: gin },
    { name: 'Gist', operations: gist },
    { name: 'Sequence', operations: words('LOG') },
    { name: 'SPGist', operations: spGist },
    { name: 'BRIN', operations: brin, initBit: ['INSERT', 'UPDATE'] },
    { name: 'CommitTs', operations: words('ZEROPAGE TRUNCATE') },
    { name: 'ReplicationOrigin', operations: words('SET DROP') },
    { name: 'Generic', operations: words('Generic') },
    { name: 'LogicalMessage', operations: words('MESSAGE') },
  ];
}

function words(text: string): readonly string[] {
  return text.split(' ').map((word) => (word === '-' ? '' : word));
}

const managers: Readonly<Record<PostgresVersion, readonly Manager[]>> = {
  15: managersOf(15),
  16: managersOf(16),
  17: managersOf(17),
  18: managersOf(18),
};

/** Such as `Heap`; of an extension's: `custom128`. */
export function managerName(version: PostgresVersion, manager: number): string {
  return managers[version][manager]?.name ?? `custom${String(manager).padStart(3, '0')}`;
}

/** Such as `INSERT+INIT`. One that this version does not know: `UNKNOWN (c0)`. */
export function operationName(version: PostgresVersion, manager: number, info: number): string {
  const unknown = `UNKNOWN (${(info & operationMask).toString(16)})`;
  const known = managers[version][manager];
  if (known === undefined) return unknown;
  const isInit = (info & 0x80) !== 0;
  const mask = known.initBit === undefined ? operationMask : 0x70;
  const name = known.operations[(info & mask) >>> 4];
  if (name === undefined || name === '') return unknown;
  return isInit && known.initBit?.includes(name) === true ? `${name}+INIT` : name;
}
