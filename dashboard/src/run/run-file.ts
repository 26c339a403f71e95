/**
 * A run as a file: one line of JSON that says what it is, and one for each moment.
 *
 * Pure. Invariants: what was written is read as it was; whatever else is given is refused, in words that say which line is wrong and why.
 */
import { type Frame, frameOf } from '../model/frames.ts';
import { frameFault } from './frame-shape.ts';
import type { Moment } from './run-history.ts';

export interface RunFileHeader {
  /** Of the replicas' group. */
  readonly group: string;
  /** Where the run came from, for people: `live: this cluster`. */
  readonly source: string;
}

export interface RunFile extends RunFileHeader {
  readonly moments: readonly Moment[];
}

export type ReadRun =
  | { readonly ok: true; readonly run: RunFile }
  | { readonly ok: false; readonly message: string };

const format = 'barista-run';
const version = 1;
export const fileBounds = {
  bytesMax: 256 * 1024 * 1024,
  momentsMax: 20_000,
  eventsMax: 1_000_000,
  /** Empty ones count. */
  linesMax: 40_001,
} as const;
export const tooLarge = 'The file is larger than a run may be.';
const wordCharsMax = 200;

/** Its lines, each with its end. */
export function writeRun({ group, source, moments }: RunFile): string[] {
  const lines: object[] = [{ format, version, group, source }, ...moments];
  return lines.map((line) => `${JSON.stringify(line)}\n`);
}

export function readRun(text: string): ReadRun {
  if (text.length > fileBounds.bytesMax) return refused(tooLarge);
  const firstEnd = lineEnd(text, 0);
  const header = headerOf(text.slice(0, firstEnd));
  if (typeof header === 'string') return refused(header);
  const moments: Moment[] = [];
  let events = 0;
  let number = 1;
  // One line at a time: a text of ends of lines alone would be more strings than there is memory for.
  for (let start = firstEnd + 1; start < text.length; ) {
    const end = lineEnd(text, start);
    const line = text.slice(start, end);
    start = end + 1;
    number += 1;
    if (number > fileBounds.linesMax) return refused('The file has more lines than a run may have.');
    if (line.trim() === '') continue;
    const moment = momentOf(line, moments.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
    if (typeof moment === 'string') return refused(`Line ${number} of the file ${moment}.`);
    moments.push(moment);
    events += eventsIn(moment);
    if (moments.length > fileBounds.momentsMax || events > fileBounds.eventsMax)
      return refused('The file has more in it than a run may have.');
  }
  if (moments.length === 0) return refused('The file has no moments of a run in it.');
  return { ok: true, run: { ...header, moments } };
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
}

function refused(message: string): ReadRun {
  return { ok: false, message };
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** What is wrong, if that is a text. */
function headerOf(line: string): RunFileHeader | string {
  const value = parsed(line);
  if (value?.['format'] !== format) return 'This is no file of a run: its first line does not say so.';
  if (value['version'] !== version)
    return `The file has version ${(JSON.stringify(value['version']) ?? 'none').slice(0, wordCharsMax)}, and this page reads version ${version}.`;
  const word = (key: string): string => {
    const text = value[key];
    return typeof text === 'string' ? text.slice(0, wordCharsMax) : '';
  };
  return { group: word('group'), source: word('source') };
}

function momentOf(line: string, beforeMs: number): Moment | string {
  const value = parsed(line);
  if (value === null) return 'is no JSON, as when a file was cut off';
  const { atMs, frames } = value;
  if (typeof atMs !== 'number' || !Number.isFinite(atMs)) return 'has no time';
  if (atMs < beforeMs) return 'goes back in time';
  if (!Array.isArray(frames)) return 'has no frames';
  const known: Frame[] = [];
  for (const frame of frames) {
    const one = frameOf(frame);
    if (one === null) return 'has something in it that is no frame';
    const fault = frameFault(one);
    if (fault !== null) return `has no ${fault} as this page reads it`;
    known.push(one);
  }
  return { atMs, frames: known };
}

function eventsIn({ frames }: Moment): number {
  return frames.reduce((sum, frame) => sum + (frame.type === 'events' ? frame.events.length : 0), 0);
}
