/** A client's part of SCRAM-SHA-256, to be honest or otherwise with. For tests. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { frame } from './frames.ts';

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** What a server keeps, as PostgreSQL writes it. */
export function scramVerifier(password: string, salt = randomBytes(16), iterations = 4096): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const server = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`;
}

export interface ScramSaid {
  readonly password: string;
  readonly header?: string;
  /** What the connection binds to, behind the header. */
  readonly endpoint?: Buffer;
  readonly nonce?: string;
}

export class ScramClient {
  readonly first: string;
  private readonly said: Required<ScramSaid>;
  private readonly bare: string;

  constructor(said: ScramSaid) {
    const nonce = said.nonce ?? randomBytes(18).toString('base64');
    this.said = { header: 'n,,', endpoint: Buffer.alloc(0), ...said, nonce };
    this.bare = `n=,r=${nonce}`;
    this.first = this.said.header + this.bare;
  }

  /** `change`: of what goes before the proof, which is then right for that. */
  final(serverFirst: string, change = (text: string): string => text): string {
    const [, nonce = '', salt = '', iterations = ''] = /^r=(.*),s=(.*),i=(.*)$/.exec(serverFirst) ?? [];
    const { password, header, endpoint } = this.said;
    const binding = Buffer.concat([Buffer.from(header), endpoint]).toString('base64');
    const withoutProof = change(`c=${binding},r=${nonce}`);
    const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256');
    const key = hmac(salted, 'Client Key');
    const stored = createHash('sha256').update(key).digest();
    const signature = hmac(stored, `${this.bare},${serverFirst},${withoutProof}`);
    const proof = Buffer.from(key.map((byte, at) => byte ^ signature[at]!));
    return `${withoutProof},p=${proof.toString('base64')}`;
  }
}

/** The client's first answer to the server's mechanisms. */
export function saslChoice(mechanism: string, data: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(data.length, 0);
  return frame('p', Buffer.concat([Buffer.from(`${mechanism}\0`), length, Buffer.from(data, 'latin1')]));
}

export function saslAnswer(data: string): Buffer {
  return frame('p', data);
}
