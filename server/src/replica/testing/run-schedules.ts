/** Runs random schedules over groups in memory: `npm run groups -- FIRST_SEED HOW_MANY [REPLICAS]`. Prints a line for each; a seed alone tells the whole story of it. */
import { runSchedule } from './memory-schedule.ts';

const [first = 1, many = 1, replicas = 3] = process.argv.slice(2).map(Number);
let failed = 0;
for (let seed = first; seed < first + many; seed++) {
  const begunAtMs = performance.now();
  const logLevel = process.env['LOG_LEVEL'];
  const { faults, counts, story, simulatedMs } = await runSchedule({
    seed,
    replicas,
    ...(logLevel === undefined ? {} : { logLevel }),
  });
  const tookMs = Math.round(performance.now() - begunAtMs);
  console.log(
    `${seed}: ${faults.length === 0 ? 'ok' : 'FAILED'} ${simulatedMs} ms in ${tookMs} ms ${JSON.stringify(counts)}`,
  );
  if (faults.length > 0) failed += 1;
  if (faults.length > 0 || many === 1) console.log([...story, ...faults].join('\n'));
}
process.exitCode = failed === 0 ? 0 : 1;
