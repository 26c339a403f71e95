/** The bytes of each sample message, in hexadecimal. Run by itself it records them: `npx tsx server/src/adapters/ws-transport/testing/sample-frames.ts VERSION`, once for each new version. */
import { writeFileSync } from 'node:fs';
import { encodeControl, encodeMessage } from '../message-codec.ts';
import { sampleControls, sampleGroup, sampleMessages } from './sample-messages.ts';

export function sampleFrames(): Readonly<Record<string, string>> {
  const hex = (frame: Uint8Array | null): string => Buffer.from(frame ?? []).toString('hex');
  const messages = Object.entries(sampleMessages).map(([name, each]) => [name, hex(encodeMessage(each))]);
  const controls = Object.entries(sampleControls).map(([name, each]) => [
    name,
    hex(encodeControl(each, sampleGroup)),
  ]);
  return Object.fromEntries([...messages, ...controls]) as Record<string, string>;
}

const [script, version] = process.argv.slice(1);
if (version !== undefined && script?.endsWith('sample-frames.ts')) {
  const file = new URL(`../goldens/frames-${version}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(sampleFrames(), null, 2)}\n`);
}
