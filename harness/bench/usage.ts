/** What a command line may hold: each mistake is answered by a sentence and the usage, and ends with 2. */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError */
export function whole(option: string, text: string, max: number, min = 1): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`--${option} must be a whole number from ${min} to ${max}, not "${text}"`);
  }
  return value;
}

/** One of `names`. @throws UsageError */
export function one<Name extends string>(option: string, text: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === text.trim());
  if (found === undefined)
    throw new UsageError(`--${option}: "${text.trim()}" is none of ${names.join(', ')}`);
  return found;
}

/** Of `names`, between commas; each counts once. @throws UsageError */
export function listed<Name extends string>(option: string, text: string, names: readonly Name[]): Name[] {
  return [...new Set(text.split(',').map((each) => one(option, each, names)))];
}

/** Numbers between commas; each counts once. @throws UsageError */
export function counts(option: string, text: string, max: number): number[] {
  return [...new Set(text.split(',').map((each) => whole(option, each.trim(), max)))];
}

/** A file that can be made, or replaced: what takes hours must not be lost for want of a directory. @throws UsageError */
export function fileToWrite(option: string, file: string): string {
  if (existsSync(file) && statSync(file).isDirectory())
    throw new UsageError(`--${option}: "${file}" is a directory`);
  requireWritable(option, existsSync(file) ? file : dirname(resolve(file)));
  return file;
}

/** A directory that is there, or can be made. @throws UsageError */
export function directoryToWrite(option: string, directory: string): string {
  let there = resolve(directory);
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory()) throw new UsageError(`--${option}: "${there}" is no directory`);
  requireWritable(option, there);
  return directory;
}

function requireWritable(option: string, path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (cause) {
    throw new UsageError(`--${option}: "${path}" cannot be written to`, { cause });
  }
}

/** What a JSON file holds that has all of these. @throws UsageError */
export function readJson<T extends object>(option: string, file: string, has: readonly (keyof T)[]): T {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new UsageError(`--${option}: "${file}" cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (typeof read !== 'object' || read === null || !has.every((name) => name in read))
    throw new UsageError(`--${option}: "${file}" does not hold the figures of a comparison`);
  return read as T;
}
