/** What the two sides of a copy of a modelled database say to each other, over a channel for objects. */
import type { Duplex } from 'node:stream';
import { CopyError } from '../../../ports/copy.ts';
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import type { WalPosition } from '../../../wal/position.ts';
import type { Control, Outcome, Page } from './model-disk.ts';

export type Message =
  | { readonly kind: 'begin'; readonly position: WalPosition }
  | { readonly kind: 'go' }
  | { readonly kind: 'pages'; readonly pages: readonly (readonly [string, Page])[]; readonly left: number }
  | { readonly kind: 'outcomes'; readonly outcomes: ReadonlyMap<bigint, Outcome> }
  | { readonly kind: 'wal'; readonly timeline: Timeline; readonly at: Lsn; readonly bytes: Buffer }
  | { readonly kind: 'history'; readonly timeline: Timeline; readonly text: string }
  | {
      readonly kind: 'complete';
      readonly state: DirectoryState;
      readonly control: Control;
      readonly prepared: ReadonlyMap<string, bigint>;
    }
  | { readonly kind: 'failed'; readonly error: CopyError };

export function send(channel: Duplex, message: Message): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.write(message, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** @throws CopyError that the other side has sent; Error if the channel ends */
export function receive<Kind extends Message['kind']>(
  channel: Duplex,
  kind: Kind,
): Promise<Extract<Message, { kind: Kind }>>;
export function receive(channel: Duplex): Promise<Message>;
export async function receive(channel: Duplex, kind?: Message['kind']): Promise<Message> {
  const message = await nextMessage(channel);
  if (message.kind === 'failed') throw message.error;
  if (kind !== undefined && message.kind !== kind)
    throw new CopyError('copyInvalid', `${message.kind} came where ${kind} was due`);
  return message;
}

function nextMessage(channel: Duplex): Promise<Message> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const message = channel.read() as Message | null;
      if (message === null) return;
      stop();
      resolve(message);
    };
    const ended = (): void => {
      stop();
      reject(new Error('the channel has ended'));
    };
    const stop = (): void => {
      channel.off('readable', look);
      channel.off('end', ended);
      channel.off('close', ended);
    };
    channel.on('readable', look);
    channel.on('end', ended);
    channel.on('close', ended);
    if (channel.destroyed) ended();
    else look();
  });
}
