/**
 * The mutation command: what would notice if a rule were wrong?
 *
 *   specs    alters the specifications; their models judge
 *   traces   alters a recorded or simulated trace; the trace check judges. --layer apply: what became of the databases; lease: what leases rest on
 *   core     alters the protocol core; unit tests, replay and simulator judge
 *
 *   --sample N   a sample of N, the same for the same --seed
 *   --json FILE  where to write the score
 *
 * Exits with 0 if every survivor is explained, 1 if not, 2 if there is no score. README.md says what is altered, and the last scores.
 */
import { parseArgs } from 'node:util';
import { endOnSignals } from '../../scripts/specs/tlc.ts';
import { orUsage, wholeNumber } from '../command-line.ts';
import { runCoreMutation } from './core/command.ts';
import { traceLayers } from './traces/alterations.ts';
import { runTraceMutation } from './traces/command.ts';
import { runSpecMutation } from './specs/command.ts';

const usage = `usage: mutate specs|traces|core [--sample N] [--seed S] [--json FILE]
  specs    alters the specifications; their models judge
           --only X,Y: modules, definitions, or module:line; --seconds N for each mutant; --models A,B: only these
  traces   alters what replicas told; the trace check judges
           --layer consensus|apply|lease; --only FILE: a recorded trace
  core     alters the protocol core; unit tests, replay and simulator judge
           --only FILE: one module; --jobs N: processes
harness/mutation/README.md says what is altered, and the last scores.`;

const { positionals, values } = orUsage(usage, () =>
  parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '1' },
      only: { type: 'string' },
      seconds: { type: 'string' },
      models: { type: 'string' },
      json: { type: 'string' },
      layer: { type: 'string', default: 'consensus' },
      help: { type: 'boolean', default: false },
    },
  }),
);

async function run(): Promise<number> {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const common = {
    seed: wholeNumber('seed', values.seed),
    ...(values.sample !== undefined && { sample: wholeNumber('sample', values.sample) }),
    ...(values.json !== undefined && { json: values.json }),
  };
  switch (positionals[0] ?? '') {
    case 'core': {
      const only = values.only === undefined ? {} : { only: values.only };
      const score = await runCoreMutation({ ...common, ...only, jobs: wholeNumber('jobs', values.jobs) });
      return score.survivors.length + score.stale.length === 0 ? 0 : 1;
    }
    case 'specs': {
      const only = values.only === undefined ? {} : { only: values.only };
      const limit = values.seconds === undefined ? {} : { seconds: wholeNumber('seconds', values.seconds) };
      const asked = values.models === undefined ? {} : { models: values.models };
      const { survivors, stale } = await runSpecMutation({ ...common, ...only, ...limit, ...asked });
      return survivors.length + stale.length === 0 ? 0 : 1;
    }
    case 'traces': {
      const only = values.only === undefined ? {} : { only: values.only };
      const { layer } = values;
      const named = traceLayers.find((one) => one === layer);
      if (named === undefined) throw new Error(`--layer ${layer}: ${traceLayers.join(', ')}`);
      const { survivors, stale } = await runTraceMutation({ ...common, ...only, layer: named });
      return survivors.length + stale.length === 0 ? 0 : 1;
    }
    default:
      console.error(usage);
      return 2;
  }
}

endOnSignals();
try {
  process.exitCode = await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
