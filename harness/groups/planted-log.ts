/** Planted bugs of what is voted for, kept and read back. */
import type { PlantedBug } from './planted-bug.ts';

export const ofTheLog: readonly PlantedBug[] = [
  {
    name: 'feedsBeforeChoice',
    sentence: 'a follower takes what it is asked to vote for as chosen',
    mutations: [
      {
        file: 'replica/consensus/core-host.ts',
        find: "this.input({ kind: 'Receive', from, message });",
        replace: `this.input({ kind: 'Receive', from, message });
    if (message.kind === 'Accept')
      this.listener?.chosen(message.entries.map((entry, index) => ({ slot: (message.firstSlot + index) as Slot, entry })));`,
      },
    ],
    strain: { only: ['is cut off', 'the machine fails', 'its disk is slow'] },
    seed: 1,
    expected: /feeds its standby slot/,
  },
  {
    name: 'votesNotWritten',
    sentence: 'a vote is told before it is in the log',
    mutations: [
      {
        file: 'replica/consensus/record-log.ts',
        find: "if (!(await this.untilDone('append', () => this.options.log.append(records)))) break;",
        replace: "void this.untilDone('append', () => this.options.log.append(records));",
      },
    ],
    strain: { only: ['all machines fail behind slow disks'] },
    seed: 2,
    expected: /^ElectedByMajority|^RevealedIsDurable/,
  },
  {
    name: 'trustsCache',
    sentence: 'a new segment of the log is written to before its name is flushed',
    mutations: [
      {
        file: 'adapters/segment-log/segment-set.ts',
        find: `segmentName(number));
      await directory.sync();`,
        replace: 'segmentName(number));',
      },
    ],
    strain: { only: ['all machines fail', 'all machines fail behind slow disks'] },
    seed: 2,
    expected: /^RestartKnowsAll/,
  },
  {
    name: 'readsOldVotes',
    sentence: 'of a slot whose vote is being written the vote before is read',
    mutations: [
      {
        file: 'replica/consensus/core-host.ts',
        find: 'const durableTo = Math.min(to, reported) as Slot;',
        replace: 'const durableTo = to;',
      },
    ],
    strain: { only: ['the leader comes back to a slow disk'] },
    seed: 87,
    expected: /^slot /,
  },
  {
    name: 'releasedAtLocalFlush',
    sentence: 'PostgreSQL is told that its WAL is safe when it is proposed',
    mutations: [
      {
        file: 'payload/wal/shipper.ts',
        find: 'this.options.onShipped(result.label, start, chunks);',
        replace: `this.options.onShipped(result.label, start, chunks);
      this.released = this.next;
      this.report();`,
      },
    ],
    strain: { only: ['is cut off', 'the machine fails'] },
    seed: 1,
    expected: /reported .* is chosen/,
  },
];
