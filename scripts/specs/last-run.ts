/**
 * When the nightly models ran last, as the manifest says it.
 *
 * Responsible for: whose turn it is, and a manifest's text with a run noted in it, the rest of it as it was.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { LastRun, Model } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

/** The nightly ones: those that never ran, then those that did not run for longest. */
export function inTurn(models: readonly Model[]): readonly Model[] {
  const ranOn = ({ lastRun }: Model): string => lastRun?.date ?? '';
  return models
    .filter(({ size }) => size === 'nightly')
    .sort((a, b) => (ranOn(a) < ranOn(b) ? -1 : ranOn(a) > ranOn(b) ? 1 : 0));
}

/** Null: the model is not in this text. */
export function withLastRun(text: string, name: string, { date, seconds, workers }: LastRun): string | null {
  const from = text.indexOf(`"name": ${JSON.stringify(name)},`);
  if (from < 0) return null;
  const shows = text.indexOf('\n    "shows":', from);
  const before = text.slice(from, shows).replace(/\n {4}"lastRun": .*/, '');
  const line = `\n    "lastRun": { "date": "${date}", "seconds": ${seconds}, "workers": ${workers} },`;
  return text.slice(0, from) + before + line + text.slice(shows);
}

/** @throws Error if no manifest has a model of that name */
export function noteRun(name: string, lastRun: LastRun): void {
  const folder = path.join(SPECS_DIR, 'manifest');
  for (const file of readdirSync(folder)) {
    const place = path.join(folder, file);
    const noted = withLastRun(readFileSync(place, 'utf8'), name, lastRun);
    if (noted === null) continue;
    writeFileSync(place, noted);
    return;
  }
  throw new Error(`no manifest has a model called ${name}`);
}
