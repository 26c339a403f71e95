/**
 * The conformance command.
 *
 *   trace FILE_OR_DIR...             is this recorded run a behaviour of the spec?
 *   fresh --seeds N [--first S] [--mix M]   are N simulated runs, from a seed that is drawn if none is given?
 *   replay [MultiPaxos|OrderedApply|Lease] [--behaviours N]   does the core, or the payload, do what behaviours of the spec do?
 *   mutate FILE --kind K --out FILE2 alters one event, to see the check reject it
 *
 * `--judge tlc|typescript`: who judges `trace` and `fresh`; TLC needs Java.
 *
 * Exits with 0 if all conforms, 1 if not, 2 if it could not be checked.
 */
import { parseArgs } from 'node:util';
import { endOnSignals } from '../../scripts/specs/tlc.ts';
import { orUsage, wholeNumber } from '../command-line.ts';
import { defaultJudge, isJudgeName, type JudgeName } from './judge/judges.ts';
import { runFreshCommand } from './fresh/fresh-command.ts';
import { freshMixes, isFreshMix } from './fresh/record-fresh.ts';
import { runPayloadReplay } from './replay/payload/payload-behaviours.ts';
import { runLeaseReplay } from './replay/lease/lease-behaviours.ts';
import { runReplayCommand } from './replay/replay-command.ts';
import { runMutateCommand, runTraceCommand } from './trace/trace-command.ts';

const options = {
  behaviours: { type: 'string', default: '200' },
  depth: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  kind: { type: 'string' },
  out: { type: 'string' },
  seeds: { type: 'string', default: '32' },
  first: { type: 'string' },
  mix: { type: 'string', default: 'default' },
  workers: { type: 'string', default: '2' },
  judge: { type: 'string', default: defaultJudge },
  'require-all': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const replays: Readonly<Record<string, typeof runReplayCommand>> = {
  MultiPaxos: runReplayCommand,
  OrderedApply: runPayloadReplay,
  Lease: runLeaseReplay,
};

const usage = `usage: conformance trace FILE_OR_DIR... [--judge tlc|typescript] [--require-all]
       conformance fresh --seeds N [--first S] [--mix ${freshMixes.join('|')}] [--judge tlc|typescript] [--workers N]
       conformance replay [${Object.keys(replays).join('|')}] [--behaviours N] [--depth N] [--seed S]
       conformance mutate FILE --kind K --out FILE2
specs/traces.md says what is checked, and specs/README.md what is replayed.`;

const { positionals, values } = orUsage(usage, () => parseArgs({ allowPositionals: true, options }));
const [command, ...rest] = positionals;

async function run(): Promise<number> {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (command === 'trace' && rest.length > 0) {
    return runTraceCommand(rest, {
      judge: judgeNamed(values.judge),
      workers: wholeNumber('workers', values.workers),
      requireAll: values['require-all'],
    });
  }
  if (command === 'fresh') {
    if (!isFreshMix(values.mix)) throw new Error(`no mix ${values.mix}; there are ${freshMixes.join(', ')}`);
    return runFreshCommand({
      mix: values.mix,
      seeds: wholeNumber('seeds', values.seeds),
      judge: judgeNamed(values.judge),
      first: values.first === undefined ? null : wholeNumber('first', values.first),
      jvms: wholeNumber('workers', values.workers),
    });
  }
  if (command === 'replay') {
    const { behaviours, depth, seed } = values;
    const module = rest[0] ?? 'MultiPaxos';
    const replay = replays[module];
    if (replay === undefined)
      throw new Error(`${module} is not replayed; there are ${Object.keys(replays).join(', ')}`);
    return replay({
      behaviours: wholeNumber('behaviours', behaviours),
      depth: wholeNumber('depth', depth),
      seed: wholeNumber('seed', seed),
    });
  }
  if (command === 'mutate' && rest[0] !== undefined && values.out !== undefined) {
    return runMutateCommand(rest[0], values.kind ?? '', values.out);
  }
  console.error(usage);
  return 2;
}

function judgeNamed(name: string): JudgeName {
  if (isJudgeName(name)) return name;
  throw new Error(`--judge is tlc or typescript, not ${name}`);
}

endOnSignals();
try {
  process.exitCode = await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
