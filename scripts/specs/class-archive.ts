/**
 * What Java has made of TLC's classes, kept beside the jar: most runs of TLC are short, and spend a fifth of their processor on reading its classes.
 *
 * Responsible for: one archive for each Java that was met, made whole or not at all. It changes nothing but time: a Java that cannot make one, or use it, goes without.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A small model whose run meets most of the classes that others need. */
const MODEL = { module: 'MCMembership', cfg: 'MCMembership-overtaken.cfg' };
const TIMEOUT_MS = 60_000;

/** Java begins later with an archive that was made with another compiler than it runs with, not sooner. */
const FIRST_COMPILER_ONLY = '-XX:TieredStopAtLevel=1';

export interface ArchiveOptions {
  readonly java: string;
  readonly jar: string;
  /** Where the modules are. */
  readonly specDir: string;
}

/** Options for a short run of Java, with its first compiler only and the archive, which is made the first time. A Java that makes none goes without. */
export async function optionsOfShortRuns({ java, jar, specDir }: ArchiveOptions): Promise<readonly string[]> {
  const { stderr } = await run(java, ['-version']);
  const archive = `${jar}.${createHash('sha256').update(stderr).digest('hex').slice(0, 12)}.jsa`;
  if (!existsSync(archive) && !(await make(archive, { java, jar, specDir }))) return [FIRST_COMPILER_ONLY];
  // Of an archive that does not fit Java says so where TLC prints, and goes without it.
  return [FIRST_COMPILER_ONLY, `-XX:SharedArchiveFile=${archive}`, '-Xlog:disable'];
}

/** Moved in whole: others may make or read it at the same time. @returns false: this Java makes none */
async function make(archive: string, { java, jar, specDir }: ArchiveOptions): Promise<boolean> {
  const scratch = await mkdtemp(path.join(path.dirname(archive), 'archive-'));
  try {
    const made = path.join(scratch, 'classes.jsa');
    await run(
      java,
      [
        `-XX:ArchiveClassesAtExit=${made}`,
        '-XX:+UseSerialGC',
        FIRST_COMPILER_ONLY,
        `-Djava.io.tmpdir=${scratch}`,
        '-cp',
        jar,
        'tlc2.TLC',
        '-metadir',
        path.join(scratch, 'states'),
        '-config',
        MODEL.cfg,
        MODEL.module,
      ],
      { cwd: specDir, timeout: TIMEOUT_MS },
    );
    await rename(made, archive);
    return true;
  } catch {
    return false;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
