/** A client's part of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const deriveKey = promisify(pbkdf2);
/** A server that asked for more would have this process work for it. */
const iterationsMax = 1_000_000;
const keyBytes = 32;

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

export class ScramProof {
  readonly first: string;
  private readonly password: string;
  private readonly bare = `n=,r=${randomBytes(18).toString('base64')}`;
  private expected: Buffer | null = null;

  constructor(password: string) {
    // As far as SASLprep matters to what people choose.
    this.password = password.normalize('NFKC');
    this.first = `n,,${this.bare}`;
  }

  /** What answers the server's challenge. @throws Error if it is none */
  async final(challenge: string): Promise<string> {
    const [, nonce = '', salt = '', count = ''] =
      /^r=([^,]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,7})$/.exec(challenge) ?? [];
    const iterations = Number(count);
    const own = this.bare.slice('n=,r='.length);
    if (nonce.length <= own.length || !nonce.startsWith(own) || iterations < 1 || iterations > iterationsMax)
      throw new Error('the SQL gateway asks for a password in a way that is not understood');
    const withoutProof = `c=biws,r=${nonce}`;
    const salted = await deriveKey(
      this.password,
      Buffer.from(salt, 'base64'),
      iterations,
      keyBytes,
      'sha256',
    );
    const key = hmac(salted, 'Client Key');
    const said = `${this.bare},${challenge},${withoutProof}`;
    const signature = hmac(createHash('sha256').update(key).digest(), said);
    this.expected = hmac(hmac(salted, 'Server Key'), said);
    const proof = Buffer.from(key.map((byte, at) => byte ^ (signature[at] ?? 0)));
    return `${withoutProof},p=${proof.toString('base64')}`;
  }

  /** Whether the server knows the password, too. */
  isServer(final: string): boolean {
    const said = Buffer.from(/^v=([A-Za-z0-9+/=]+)/.exec(final)?.[1] ?? '', 'base64');
    return (
      this.expected !== null && said.length === this.expected.length && timingSafeEqual(said, this.expected)
    );
  }
}
