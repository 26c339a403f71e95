/**
 * The first packet of a connection, which has no type byte: StartupMessage, SSLRequest, GSSENCRequest, CancelRequest.
 *
 * Pure: takes the bytes so far, says what they are or that more are needed.
 */
import { ProtocolViolation } from './protocol-violation.ts';

/** PostgreSQL's own bound. */
export const startupBytesMax = 10_000;

const cancelCode = (1234 << 16) | 5678;
const sslCode = (1234 << 16) | 5679;
const gssCode = (1234 << 16) | 5680;
/** Between gateways: a CancelRequest that has been forwarded once and goes no further. */
const forwardedCancelCode = (1234 << 16) | 7432;
/** Between gateways: a client's connection that a follower has handed to the leader. Protocol options begin with `_pq_.`. */
const tunnelledParameter = '_pq_.barista_tunnelled';
/** Its value where the follower takes messages about transactions in doubt (doubt-frame.ts). */
const takesDoubts = '2';

export interface StartupMessage {
  readonly kind: 'startup';
  /** Major version in the upper half, minor in the lower. */
  readonly version: number;
  readonly parameters: readonly (readonly [string, string])[];
  readonly tunnelled: boolean;
  /** The other end is a follower that is to be told of transactions before they are proposed. */
  readonly takesDoubts: boolean;
}

export type FirstPacket =
  | StartupMessage
  | { readonly kind: 'ssl' | 'gss' }
  /** `key`: process id and secret as sent, which is what BackendKeyData carried. */
  | { readonly kind: 'cancel'; readonly key: Buffer; readonly forwarded: boolean };

/** @returns the packet and the number of bytes that it took, or null if more bytes are needed. @throws ProtocolViolation */
export const readFirstPacket = (
  bytes: Buffer,
): { readonly packet: FirstPacket; readonly length: number } | null => {
  if (bytes.length < 4) return null;
  const length = bytes.readInt32BE(0);
  if (length < 8 || length > startupBytesMax) throw new ProtocolViolation('invalid length of startup packet');
  if (bytes.length < length) return null;
  const code = bytes.readInt32BE(4);
  const rest = bytes.subarray(8, length);
  switch (code) {
    case sslCode:
    case gssCode:
      if (length !== 8) throw new ProtocolViolation('invalid length of encryption request');
      return { packet: { kind: code === sslCode ? 'ssl' : 'gss' }, length };
    case cancelCode:
    case forwardedCancelCode:
      if (rest.length < 8) throw new ProtocolViolation('invalid length of cancel request');
      return {
        packet: { kind: 'cancel', key: Buffer.from(rest), forwarded: code === forwardedCancelCode },
        length,
      };
    default:
      return { packet: startupMessage(code, rest), length };
  }
};

const startupMessage = (version: number, rest: Buffer): StartupMessage => {
  if (version >>> 16 !== 3) {
    throw new ProtocolViolation(
      `unsupported frontend protocol ${version >>> 16}.${version & 0xffff}: only 3.x is served`,
    );
  }
  if (rest.length === 0 || rest.at(-1) !== 0) throw new ProtocolViolation('invalid startup packet layout');
  const fields = rest.toString('latin1').split('\0');
  const parameters: (readonly [string, string])[] = [];
  let at = 0;
  while (fields[at] !== '') {
    const value = fields[at + 1];
    if (value === undefined || at + 2 >= fields.length)
      throw new ProtocolViolation('invalid startup packet layout');
    parameters.push([fields[at] as string, value]);
    at += 2;
  }
  if (at !== fields.length - 2)
    throw new ProtocolViolation('invalid startup packet layout: expected terminator as last byte');
  return {
    kind: 'startup',
    version,
    parameters: parameters.filter(([name]) => name !== tunnelledParameter),
    tunnelled: parameters.some(([name]) => name === tunnelledParameter),
    takesDoubts: parameters.some(([name, value]) => name === tunnelledParameter && value === takesDoubts),
  };
};

export const startupParameter = (startup: StartupMessage, name: string): string | undefined =>
  startup.parameters.findLast(([key]) => key === name)?.[1];

const packet = (code: number, rest: Buffer): Buffer => {
  const head = Buffer.allocUnsafe(8);
  head.writeInt32BE(rest.length + 8, 0);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, rest]);
};

/** `forced` parameters replace whatever the client asked for under these names. */
export const startupForBackend = (
  startup: StartupMessage,
  forced: Readonly<Record<string, string>>,
): Buffer => {
  const names = new Set(Object.keys(forced).map((name) => name.toLowerCase()));
  const kept = startup.parameters.filter(([name]) => !names.has(name.toLowerCase()));
  return encodeStartup(startup.version, [...kept, ...Object.entries(forced)]);
};

export const startupForTunnel = (startup: StartupMessage): Buffer =>
  encodeStartup(startup.version, [...startup.parameters, [tunnelledParameter, takesDoubts]]);

const encodeStartup = (version: number, parameters: readonly (readonly [string, string])[]): Buffer =>
  packet(
    version,
    Buffer.from(`${parameters.map(([name, value]) => `${name}\0${value}\0`).join('')}\0`, 'latin1'),
  );

export const cancelForBackend = (key: Buffer): Buffer => packet(cancelCode, key);
export const cancelForLeader = (key: Buffer): Buffer => packet(forwardedCancelCode, key);
