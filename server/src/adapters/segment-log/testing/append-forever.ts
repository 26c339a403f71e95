/** A process for crash tests: appends votes for slots 1, 2, 3... and prints each slot once it is acknowledged. Args: directory, lanes. */
import { openSegmentLog } from '../segment-log.ts';
import { group, voteOf, commandOf } from './records.ts';

const [directory = '', lanes = '1'] = process.argv.slice(2);
const store = await openSegmentLog({ directory, group, segmentBytes: 64 * 1024 });
let slot = store.recovered.tail.at(-1)?.slot ?? 0;
process.stdout.write('open\n');

async function lane(): Promise<never> {
  for (;;) {
    const mine = (slot += 1 as typeof slot);
    await store.append([voteOf(mine, 1, commandOf(mine, new Uint8Array(mine % 3000).fill(mine % 256)))]);
    process.stdout.write(`${mine}\n`);
  }
}

await Promise.all(Array.from({ length: Number(lanes) }, lane));
