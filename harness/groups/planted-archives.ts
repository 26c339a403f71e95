/** Planted bugs of what is kept for restoring a group as it was. */
import type { PlantedBug } from './planted-bug.ts';

export const ofArchives: readonly PlantedBug[] = [
  {
    name: 'archivesUnchosen',
    sentence: 'what the directory of a leader has is archived, chosen or not',
    mutations: [
      {
        file: 'payload/wal/archiving.ts',
        find: 'return await wal.read(from, to, readBytesMax);',
        replace: `const timeline = timelineAt(wal.position, from);
      return [await this.options.directory.readWal(from, timeline, readBytesMax)];`,
      },
    ],
    strain: { archives: true, only: ['is cut off'] },
    seed: 1,
    expected: /has archived .* is chosen up to/,
  },
];
