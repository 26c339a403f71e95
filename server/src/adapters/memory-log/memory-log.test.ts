import { describeLogStore, group } from '../../ports/testing/log-store-contract.ts';
import { crashMemoryDisk, createMemoryDisk, createMemoryLog, openMemoryLog } from './memory-log.ts';

describeLogStore('memory', async () => {
  let disk = createMemoryDisk(group);
  return {
    create: (newLog) => createMemoryLog(disk, newLog),
    open: () => openMemoryLog(disk),
    async crash() {
      disk = crashMemoryDisk(disk);
    },
    setFull(full) {
      disk.recordsFree = full ? 0 : Number.POSITIVE_INFINITY;
    },
    async dispose() {
      disk = createMemoryDisk(group);
    },
  };
});
