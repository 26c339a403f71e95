/**
 * What goes over the wire is what was recorded for each version: a change of the bytes that nobody has meant, or has given no version, is noticed.
 *
 * Whoever adds or changes a message raises `ownVersions.newest` (versions.ts) and records the frames of the new version (testing/sample-frames.ts). The files of older versions stay, and are read for as long as these are spoken.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeFrame } from './message-codec.ts';
import { sampleFrames } from './testing/sample-frames.ts';
import { sampleControls, sampleGroup, sampleMessages } from './testing/sample-messages.ts';
import { isKnownTo, ownVersions } from './versions.ts';

const folder = new URL('./goldens/', import.meta.url);
const recorded = readdirSync(folder)
  .flatMap((name) => /^frames-(\d+)\.json$/.exec(name)?.[1] ?? [])
  .map(Number);
const framesOf = (version: number): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`frames-${version}.json`, folder), 'utf8')) as Record<string, string>;

const samples: Readonly<Record<string, unknown>> = { ...sampleMessages, ...sampleControls };

describe('the frames of the peers protocol', () => {
  it('are recorded for every version that is spoken', () => {
    const { oldest, newest } = ownVersions;
    const spoken = Array.from({ length: newest - oldest + 1 }, (_, index) => oldest + index);
    expect(recorded).toEqual(expect.arrayContaining(spoken));
  });

  it('are, byte for byte, those that were recorded for the newest version', () => {
    expect(sampleFrames()).toEqual(framesOf(ownVersions.newest));
  });

  it.each(recorded.filter((version) => version >= ownVersions.oldest))(
    'of version %s are read as what they meant',
    (version) => {
      for (const [name, frame] of Object.entries(framesOf(version))) {
        const { message } = decodeFrame(Buffer.from(frame, 'hex'), sampleGroup);
        expect([name, bytesAsLists(message)]).toEqual([name, bytesAsLists(samples[name])]);
        expect([name, isKnownTo(version, message.kind)]).toEqual([name, true]);
      }
    },
  );
});

/** A Buffer tells JSON of itself otherwise than a Uint8Array does. */
function bytesAsLists(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => {
      const told = item as { readonly type?: unknown; readonly data?: unknown } | null;
      return told !== null && typeof told === 'object' && told.type === 'Buffer' ? told.data : item;
    }),
  );
}
