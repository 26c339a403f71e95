/**
 * One client's proof that it knows a password, by SCRAM-SHA-256 with or without channel binding: what the server says to each message.
 *
 * Opens no socket and looks up no role. Invariants: a nonce is used once; whether there is anything to prove (`isDoomed`) shows only at the end, and there as a wrong password does; proofs are compared in
 * a time that does not depend on them.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type ClientFirst,
  malformed,
  readClientFinal,
  readClientFirst,
  ScramRefusal,
} from './scram-messages.ts';
import type { ScramSecret } from './scram-secret.ts';

export const scram = 'SCRAM-SHA-256';
export const scramPlus = 'SCRAM-SHA-256-PLUS';
const bindingType = 'tls-server-end-point';
/** As many as PostgreSQL's have. */
const nonceBytes = 18;

export interface ScramOptions {
  readonly mechanism: string;
  readonly secret: ScramSecret;
  /** Nothing proves anything: it is gone through for the looks of it. */
  readonly isDoomed: boolean;
  /** What the client's end of the connection binds to (RFC 5929): a hash of this server's certificate. Null: the connection has none. */
  readonly endpoint: Buffer | null;
  /** Of tests. */
  readonly nonce?: string;
}

export interface ScramOutcome {
  readonly isProven: boolean;
  /** The server's own proof, for a client that has proved itself. */
  readonly reply: Buffer;
}

export class ScramExchange {
  private readonly options: ScramOptions;
  private first: ClientFirst | null = null;
  private serverFirst = '';
  private nonce = '';

  constructor(options: ScramOptions) {
    this.options = options;
  }

  /** The answer to the client's first message. @throws ScramRefusal */
  begin(message: Buffer): Buffer {
    const first = readClientFirst(message.toString('latin1'));
    this.checkBinding(first);
    const { secret, nonce = randomBytes(nonceBytes).toString('base64') } = this.options;
    this.first = first;
    this.nonce = first.nonce + nonce;
    this.serverFirst = `r=${this.nonce},s=${secret.salt},i=${secret.iterations}`;
    return Buffer.from(this.serverFirst, 'latin1');
  }

  /** Of the client's second message. @throws ScramRefusal */
  end(message: Buffer): ScramOutcome {
    const { first, nonce } = this;
    if (first === null) throw malformed('There was no first message.');
    this.first = null;
    const final = readClientFinal(message.toString('latin1'));
    this.checkBound(first, final.binding);
    if (final.nonce !== nonce) {
      const told = { sqlState: '08P01', message: 'invalid SCRAM response', detail: 'Nonce does not match.' };
      throw new ScramRefusal(told);
    }
    const { secret, isDoomed } = this.options;
    const said = Buffer.from(`${first.bare},${this.serverFirst},${final.withoutProof}`, 'latin1');
    const clientKey = xor(final.proof, hmac(secret.storedKey, said));
    const storedKey = createHash('sha256').update(clientKey).digest();
    const isRight = timingSafeEqual(storedKey, secret.storedKey);
    const signature = hmac(secret.serverKey, said).toString('base64');
    return { isProven: isRight && !isDoomed, reply: Buffer.from(`v=${signature}`, 'latin1') };
  }

  private checkBinding({ flag, bindingType: type }: ClientFirst): void {
    const isBound = this.options.mechanism === scramPlus;
    if (isBound !== (flag === 'p')) {
      throw malformed(
        isBound
          ? `The client selected ${scramPlus}, but the SCRAM message does not include channel binding data.`
          : `The client selected ${scram} without channel binding, but the SCRAM message includes channel binding data.`,
      );
    }
    if (flag === 'y' && this.options.endpoint !== null) {
      // Somebody in between may have hidden from the client that it is offered.
      throw new ScramRefusal({
        sqlState: '28000',
        message: 'SCRAM channel binding negotiation error',
        detail:
          'The client supports SCRAM channel binding but thinks the server does not. However, this server does support channel binding.',
      });
    }
    if (flag === 'p' && type !== bindingType) {
      const message = `unsupported SCRAM channel-binding type "${type}"`;
      throw new ScramRefusal({ sqlState: '08P01', message });
    }
  }

  private checkBound({ flag, gs2Header }: ClientFirst, binding: string): void {
    const endpoint = flag === 'p' ? (this.options.endpoint ?? Buffer.alloc(0)) : Buffer.alloc(0);
    const expected = Buffer.concat([Buffer.from(gs2Header, 'latin1'), endpoint]).toString('base64');
    if (binding === expected) return;
    if (flag === 'p') {
      throw new ScramRefusal({ sqlState: '28000', message: 'SCRAM channel binding check failed' });
    }
    const message = 'unexpected SCRAM channel-binding attribute in client-final-message';
    throw new ScramRefusal({ sqlState: '08P01', message });
  }
}

function hmac(key: Buffer, text: Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function xor(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(a.map((byte, at) => byte ^ b[at]!));
}
