import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findJava, findMaven, javaCandidates, MissingToolError, parseJavaMajor } from './java.ts';

describe('finding Java', () => {
  it('reads the major version of old and new kinds', () => {
    expect(parseJavaMajor('openjdk version "1.8.0_392"')).toBe(8);
    expect(parseJavaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17);
    expect(parseJavaMajor('openjdk version "21-ea" 2023-09-19')).toBe(21);
    expect(parseJavaMajor('command not found')).toBeNull();
  });

  it('looks at JAVA_HOME before the path', () => {
    expect(javaCandidates('/opt/jdk')).toEqual([path.join('/opt/jdk', 'bin', 'java'), 'java']);
    expect(javaCandidates(undefined)).toEqual(['java']);
  });

  it('says how to get what is missing', () => {
    const env = { PATH: mkdtempSync(path.join(tmpdir(), 'barista-empty-')) };
    expect(() => findJava(env)).toThrow(MissingToolError);
    expect(() => findJava(env)).toThrow(/Java 11 or later.*apt-get install.*brew install/);
    expect(() => findMaven(env)).toThrow(/Maven.*apt-get install maven/);
  });
});
