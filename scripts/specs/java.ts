/**
 * Finds Java and Maven, and says how to get them.
 *
 * Responsible for: which executables the spec tools start. Starts nothing but `java -version` and `mvn -version`.
 * JAVA_HOME goes before PATH, as everywhere in the Java world.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

export const JAVA_MAJOR_MIN = 11;

/** Something that the specs need is not on this machine; the message says how to get it. */
export class MissingToolError extends Error {
  override readonly name = 'MissingToolError';
}

const HOW_TO_GET_JAVA =
  `TLC needs Java ${JAVA_MAJOR_MIN} or later. Install it (Debian, Ubuntu: apt-get install default-jre-headless; ` +
  'Fedora: dnf install java-latest-openjdk-headless; macOS: brew install openjdk) or set JAVA_HOME.';

const HOW_TO_GET_MAVEN =
  'TLC is fetched by Maven, once. Install it (Debian, Ubuntu: apt-get install maven; Fedora: dnf install maven; ' +
  'macOS: brew install maven).';

/** The major version that `java -version` printed, or null: `"1.8.0_392"` is 8, `"17.0.15"` is 17, `"21-ea"` is 21. */
export function parseJavaMajor(output: string): number | null {
  const match = /version "(\d+)(?:\.(\d+))?/.exec(output);
  if (match === null) return null;
  const first = Number(match[1]);
  return first === 1 && match[2] !== undefined ? Number(match[2]) : first;
}

/** Where to look for Java, in order. */
export function javaCandidates(javaHome: string | undefined): readonly string[] {
  return javaHome === undefined || javaHome === '' ? ['java'] : [path.join(javaHome, 'bin', 'java'), 'java'];
}

/** @returns the java executable. @throws MissingToolError if there is none of version 11 or later. */
export function findJava(env: NodeJS.ProcessEnv = process.env): string {
  const seen: string[] = [];
  for (const candidate of javaCandidates(env.JAVA_HOME)) {
    if (path.isAbsolute(candidate) && !existsSync(candidate)) {
      seen.push(`${candidate} does not exist`);
      continue;
    }
    const run = spawnSync(candidate, ['-version'], { encoding: 'utf8', env });
    const major = run.error === undefined ? parseJavaMajor(`${run.stderr}${run.stdout}`) : null;
    if (major !== null && major >= JAVA_MAJOR_MIN) return candidate;
    seen.push(major === null ? `${candidate} does not run` : `${candidate} is version ${major}`);
  }
  throw new MissingToolError(`${HOW_TO_GET_JAVA} Found: ${seen.join('; ')}.`);
}

/** @returns the mvn executable. @throws MissingToolError if there is none. */
export function findMaven(env: NodeJS.ProcessEnv = process.env): string {
  const run = spawnSync('mvn', ['-version'], { encoding: 'utf8', env });
  if (run.error !== undefined || run.status !== 0) throw new MissingToolError(HOW_TO_GET_MAVEN);
  return 'mvn';
}
