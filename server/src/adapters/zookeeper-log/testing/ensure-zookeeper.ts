/**
 * Fetches Apache ZooKeeper's server, for tests and measurements.
 *
 * Responsible for: one verified copy of its jars in .cache/zookeeper. Maven fetches it, so that no host is named here.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const REPOSITORY = fileURLToPath(new URL('../../../../..', import.meta.url));
const CACHE_DIR = path.join(REPOSITORY, '.cache', 'zookeeper');
const MAVEN_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';
const FETCH_TIMEOUT_MS = 300_000;

interface Jar {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
  readonly sha256: string;
}

/** The server and the little that it needs to run with its own sockets: 4 MB, all under the Apache or MIT licence. */
const JARS: readonly Jar[] = [
  {
    group: 'org.apache.zookeeper',
    artifact: 'zookeeper',
    version: '3.9.3',
    sha256: 'ad6570105768d18382a762325b4460368b7089a5a77c053e682b17942e0e72b5',
  },
  {
    group: 'org.apache.zookeeper',
    artifact: 'zookeeper-jute',
    version: '3.9.3',
    sha256: 'be72e2c9099413a9878ce830b65bb22e0be755dc2a22b290550ab9e03b5b4cfa',
  },
  {
    group: 'org.slf4j',
    artifact: 'slf4j-api',
    version: '1.7.30',
    sha256: 'cdba07964d1bb40a0761485c6b1e8c2f8fd9eb1d19c53928ac0d7f9510105c57',
  },
  {
    group: 'org.slf4j',
    artifact: 'slf4j-simple',
    version: '1.7.30',
    sha256: '8b9279cbff6b9f88594efae3cf02039b6995030eec023ed43928748c41670fee',
  },
  {
    group: 'io.dropwizard.metrics',
    artifact: 'metrics-core',
    version: '4.1.12.1',
    sha256: 'cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9',
  },
  {
    group: 'org.xerial.snappy',
    artifact: 'snappy-java',
    version: '1.1.10.5',
    sha256: '0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b',
  },
];

const fileOf = ({ artifact, version }: Jar): string => `${artifact}-${version}.jar`;

/** The class path of the server, fetched the first time. @throws Error without Maven, or if what came is not what we know */
export async function ensureZooKeeper(): Promise<string> {
  const home = path.join(CACHE_DIR, JARS[0]?.version ?? '');
  if ((await firstWrong(home)) !== null) await fetchInto(home);
  return JARS.map((jar) => path.join(home, fileOf(jar))).join(path.delimiter);
}

async function fetchInto(home: string): Promise<void> {
  await mkdir(CACHE_DIR, { recursive: true });
  // Fetched beside the cache and moved in whole, so that a run at the same time never sees half of it.
  const fetched = await mkdtemp(path.join(CACHE_DIR, 'fetch-'));
  try {
    const jars = path.join(fetched, 'jars');
    await writeFile(path.join(fetched, 'pom.xml'), pom());
    await promisify(execFile)('mvn', ['-q', '-B', MAVEN_GOAL, `-DoutputDirectory=${jars}`], {
      cwd: fetched,
      timeout: FETCH_TIMEOUT_MS,
    });
    const wrong = await firstWrong(jars);
    if (wrong !== null) throw new Error(`Maven brought another ${wrong} than the one that is known here`);
    await rm(home, { recursive: true, force: true });
    await rename(jars, home).catch(async (error: unknown) => {
      // Another run was faster.
      if ((await firstWrong(home)) !== null) throw error;
    });
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

/** The first jar that is not there as it should be, or null. */
async function firstWrong(directory: string): Promise<string | null> {
  for (const jar of JARS) {
    const bytes = await readFile(path.join(directory, fileOf(jar))).catch(() => null);
    if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== jar.sha256) return fileOf(jar);
  }
  return null;
}

/** Each jar by name and none that these would bring along. */
function pom(): string {
  const dependencies = JARS.map(
    ({ group, artifact, version }) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>` +
      '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>',
  );
  return (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
    '<groupId>barista</groupId><artifactId>zookeeper-for-tests</artifactId><version>1</version>' +
    `<dependencies>${dependencies.join('')}</dependencies></project>`
  );
}
