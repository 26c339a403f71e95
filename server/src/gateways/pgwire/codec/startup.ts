/**
 * The first packet of a connection, which has no type byte: StartupMessage, SSLRequest, GSSENCRequest, CancelRequest.
 *
 * Pure: takes the bytes so far, says what they are or that more are needed.
 */
import { authentication } from './authentication-messages.ts';
import { frameOf } from '../../../pgwire/backend-messages.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ProtocolViolation, UnreadableStart } from '../../../pgwire/protocol-violation.ts';

/** PostgreSQL's own bound. */
export const startupBytesMax = 10_000;
/** Of a packet of that length PostgreSQL takes thousands. Each costs some 100 bytes until the client has proved who it is, and no client sets so many of PostgreSQL's settings, of which there are some 360. */
const parametersMax = 250;
/** Process id and secret: PostgreSQL 18 has secrets of up to 256 bytes. */
const cancelKeyBytesMax = 4 + 256;

const cancelCode = (1234 << 16) | 5678;
const sslCode = (1234 << 16) | 5679;
const gssCode = (1234 << 16) | 5680;
/** Between gateways: a CancelRequest that has been forwarded once and goes no further. */
const forwardedCancelCode = (1234 << 16) | 7432;
/** Between gateways: a client's connection that a follower has handed to the leader. Options of the protocol begin with `_pq_.`. */
const tunnelledParameter = '_pq_.barista_tunnelled';
/** Its value begins so, and goes on with a number that the follower has drawn. By the number of their version gateways tell whether they understand each other: what they prove (login/tunnel-proof.ts), and what the leader says of transactions in doubt (doubt-frame.ts). */
const tunnelVersion = '4.';
const tunnelNonceText = /^[A-Za-z0-9_-]{22}$/;
/** Among codes of authentication: the leader's gateway asks the follower's to prove itself. */
const challengeCode = 7432;

export interface StartupMessage {
  readonly kind: 'startup';
  /** Major version in the upper half, minor in the lower. */
  readonly version: number;
  /** Names and values are read as latin1, byte for byte. */
  readonly parameters: readonly (readonly [string, string])[];
  /** The other end says that it is a follower's gateway, which is to be told of transactions whose outcome may come into doubt: what it drew for the proof. Null: it is a client. */
  readonly tunnelNonce: Buffer | null;
}

export type FirstPacket =
  | StartupMessage
  | { readonly kind: 'ssl' | 'gss' }
  /** `key`: process id and secret as sent, which is what BackendKeyData carried. */
  | { readonly kind: 'cancel'; readonly key: Buffer; readonly forwarded: boolean };

/** @returns the packet and the number of bytes that it took, or null if more bytes are needed. @throws ProtocolViolation */
export function readFirstPacket(
  bytes: Buffer,
): { readonly packet: FirstPacket; readonly length: number } | null {
  if (bytes.length < 4) return null;
  const length = bytes.readInt32BE(0);
  if (length < 8 || length > startupBytesMax) throw new UnreadableStart('invalid length of startup packet');
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
      if (rest.length < 8 || rest.length > cancelKeyBytesMax) {
        throw new UnreadableStart('invalid length of cancel request');
      }
      return {
        packet: { kind: 'cancel', key: Buffer.from(rest), forwarded: code === forwardedCancelCode },
        length,
      };
    default:
      return { packet: startupMessage(code, rest), length };
  }
}

function startupMessage(version: number, rest: Buffer): StartupMessage {
  if (version >>> 16 !== 3) {
    throw new ProtocolViolation(
      `unsupported frontend protocol ${version >>> 16}.${version & 0xffff}: only 3.x is served`,
    );
  }
  const parameters = readParameters(rest);
  return {
    kind: 'startup',
    version,
    parameters: awake(parameters.filter(([name]) => name !== tunnelledParameter)),
    tunnelNonce: tunnelNonceOf(parameters.findLast(([name]) => name === tunnelledParameter)?.[1] ?? null),
  };
}

/** What a session can have from its startup packet alone, and has it hold a place of the server's without need: a sleep behind its log-in, catalogs that are read without their indexes. */
const heavy: readonly (readonly [string, string])[] = [
  ['post_auth_delay', '0'],
  ['ignore_system_indexes', 'off'],
];

/** As `post_auth_delay=5`, `post-auth-delay`, `-W 5`, `-fsW5`, `-P`: rather too much than too little, without the backslashes that `options` may have anywhere. */
const heavyOptions = /post[-_]auth[-_]delay|ignore[-_]system[-_]indexes|(?:^|\s)-[A-Za-z]*[WP]/i;

/** What stands last counts. */
function awake(parameters: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const isHeavy = parameters.some(
    ([name, value]) =>
      heavy.some(([one]) => one === name.toLowerCase()) ||
      (name === 'options' && heavyOptions.test(value.replaceAll('\\', ''))),
  );
  if (!isHeavy) return parameters;
  const others = parameters.filter(([name]) => heavy.every(([one]) => one !== name.toLowerCase()));
  return [...others, ...heavy];
}

function tunnelNonceOf(mark: string | null): Buffer | null {
  if (mark === null) return null;
  const nonce = mark.slice(tunnelVersion.length);
  if (!mark.startsWith(tunnelVersion) || !tunnelNonceText.test(nonce)) {
    throw new ProtocolViolation('the gateways of these two replicas have incompatible versions');
  }
  return Buffer.from(nonce, 'base64url');
}

function readParameters(rest: Buffer): (readonly [string, string])[] {
  if (rest.length === 0 || rest.at(-1) !== 0) throw new ProtocolViolation('invalid startup packet layout');
  if (hasMoreFields(rest, 2 * parametersMax + 1))
    throw new ProtocolViolation(`a startup packet has more than ${parametersMax} parameters`);
  const fields = rest.toString('latin1').split('\0');
  const parameters: (readonly [string, string])[] = [];
  let at = 0;
  while (fields[at] !== '') {
    const value = fields[at + 1];
    if (value === undefined || at + 2 >= fields.length) {
      throw new ProtocolViolation('invalid startup packet layout');
    }
    parameters.push([fields[at]!, value]);
    at += 2;
  }
  if (at !== fields.length - 2) {
    throw new ProtocolViolation('invalid startup packet layout: expected terminator as last byte');
  }
  return parameters;
}

/** Before anything is made of them. */
function hasMoreFields(rest: Buffer, max: number): boolean {
  let at = -1;
  for (let count = 0; count <= max; count += 1) {
    at = rest.indexOf(0, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/** PostgreSQL takes the last of several. */
export function startupParameter(startup: StartupMessage, name: string): string | undefined {
  return startup.parameters.findLast(([key]) => key === name)?.[1];
}

/** Longer names are cut by PostgreSQL. */
const nameBytesMax = 63;

/** As PostgreSQL takes it: one role and one database, named once each, the last of several and as long as a name can be. What is judged before PostgreSQL sees it must be what PostgreSQL sees. */
export function plainStartup(startup: StartupMessage): StartupMessage {
  const role = cutName(startupParameter(startup, 'user') ?? '');
  const database = cutName(startupParameter(startup, 'database') ?? '');
  const others = startup.parameters.filter(([name]) => name !== 'user' && name !== 'database');
  const own = [
    ['user', role],
    ['database', database === '' ? role : database],
  ] as const;
  return { ...startup, parameters: role === '' ? others : [...own, ...others] };
}

/** Not within a character. */
function cutName(name: string): string {
  let end = Math.min(name.length, nameBytesMax);
  if (end < name.length) while (end > 0 && (name.charCodeAt(end) & 0xc0) === 0x80) end -= 1;
  return name.slice(0, end);
}

/** The role that wants to log in, in UTF-8, as names are for the replica. Of a startup packet that is plain. */
export function roleOf(startup: StartupMessage): string {
  return utf8(startupParameter(startup, 'user') ?? '');
}

/** PostgreSQL's default is the database of the user's name. */
export function databaseOf(startup: StartupMessage): string {
  return utf8(startupParameter(startup, 'database') ?? startupParameter(startup, 'user') ?? '');
}

export function sessionPlace(startup: StartupMessage): { readonly database: string; readonly role: string } {
  return { database: databaseOf(startup), role: roleOf(startup) };
}

/** The names of role and database are in UTF-8. */
export function isReadable(startup: StartupMessage): boolean {
  return ['user', 'database'].every((name) => {
    const text = startupParameter(startup, name) ?? '';
    return Buffer.from(utf8(text), 'utf8').toString('latin1') === text;
  });
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

/** As the client sent it, but for the mark of a tunnel. */
export function startupForBackend(startup: StartupMessage): Buffer {
  return encodeStartup(startup.version, startup.parameters);
}

/** For a session that reads: what it does not turn off itself writes nothing, at a primary, too. */
export function startupForReading(startup: StartupMessage): Buffer {
  return encodeStartup(startup.version, readOnly(startup).parameters);
}

export function readOnly(startup: StartupMessage): StartupMessage {
  return { ...startup, parameters: [...startup.parameters, ['default_transaction_read_only', 'on']] };
}

export function startupForTunnel(startup: StartupMessage, nonce: Buffer): Buffer {
  const mark = tunnelVersion + nonce.toString('base64url');
  return encodeStartup(startup.version, [...startup.parameters, [tunnelledParameter, mark]]);
}

/** What the leader's gateway says to it. */
export function tunnelChallenge(challenge: Buffer): Buffer {
  return authentication(challengeCode, challenge);
}

/** `payload`: of a message of authentication. Null: it is another. */
export function readTunnelChallenge(payload: Buffer): Buffer | null {
  return payload.length >= 4 && payload.readInt32BE(0) === challengeCode ? payload.subarray(4) : null;
}

/** What the follower's says to that. */
export function tunnelAnswer(answer: Buffer): Buffer {
  return frameOf(front.password, answer);
}

function encodeStartup(version: number, parameters: readonly (readonly [string, string])[]): Buffer {
  const texts = parameters.map(([name, value]) => `${name}\0${value}\0`).join('');
  return packet(version, Buffer.from(`${texts}\0`, 'latin1'));
}

export function cancelForBackend(key: Buffer): Buffer {
  return packet(cancelCode, key);
}

export function cancelForLeader(key: Buffer): Buffer {
  return packet(forwardedCancelCode, key);
}

/** Asks for TLS, as clients do. */
export const sslRequest = packet(sslCode, Buffer.alloc(0));

function packet(code: number, rest: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(rest.length + 8, 0);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, rest]);
}
