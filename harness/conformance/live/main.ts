/**
 * The checker of a cluster that runs: reads what its replicas record, and says whether the specification allows it.
 *
 *   live/main.ts [--judge tlc|typescript] [--drop] DIR...     the directories in which replicas record
 *
 * What it writes and reads is said in server/src/api/check.ts; it writes at most twice a second. What was recorded before it started is left out:
 * its first line, which it writes as soon as it can, says that all that is recorded from then on is judged.
 * `--drop` deletes files that have been read and are full.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { ProcessesWord } from '../../../server/src/api/check.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { defaultJudge, isJudgeName } from '../judge/judges.ts';
import { growingFiles } from './growing-files.ts';
import { newLiveCheck } from './live-check.ts';

const TURN_MS = 250;
const REPORT_MS = 500;

const { positionals: dirs, values } = parseArgs({
  allowPositionals: true,
  options: {
    judge: { type: 'string', default: defaultJudge },
    drop: { type: 'boolean', default: false },
  },
});
if (dirs.length === 0 || !isJudgeName(values.judge)) {
  console.error('usage: live/main.ts [--judge tlc|typescript] [--drop] DIR...');
  process.exit(2);
}

const check = newLiveCheck(values.judge);
const files = growingFiles({ dirs, isDropped: values.drop });
let word: ProcessesWord = { atUs: 0, processes: {} };
let lastReport = '';
let reportedAtMs = -REPORT_MS;

/** The clock of trace events. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

const report = (): void => {
  const text = JSON.stringify(check.report(nowUs()));
  if (text === lastReport || performance.now() - reportedAtMs < REPORT_MS) return;
  lastReport = text;
  reportedAtMs = performance.now();
  process.stdout.write(`${text}\n`);
};

const turn = async (): Promise<void> => {
  // What a process recorded before it ended is read behind the word that it has.
  const { atUs, processes } = word;
  const readAtUs = nowUs();
  const isAllRead = files.read((event) => check.add(event));
  const idsOf = (state: string): ReplicaId[] =>
    Object.keys(processes).filter((id) => processes[id] === state) as ReplicaId[];
  check.setProcesses({
    ended: new Set(isAllRead ? idsOf('stopped') : []),
    areSomeFrozen: idsOf('paused').length > 0,
    atUs,
  });
  const hasMore = isAllRead ? await check.work(readAtUs) : true;
  report();
  setTimeout(() => void turn().catch(fail), hasMore ? 0 : TURN_MS);
};

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  word = JSON.parse(line) as ProcessesWord;
});
lines.on('close', () => process.exit(0));
void turn().catch(fail);
