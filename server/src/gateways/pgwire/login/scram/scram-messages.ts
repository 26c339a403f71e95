/**
 * The texts of SCRAM (RFC 5802, RFC 7677), as a server reads them. Texts are latin1, byte for byte.
 *
 * Pure. What is refused is refused in PostgreSQL's words and with its SQLSTATEs.
 */
import type { GatewayError } from '../../../../pgwire/backend-messages.ts';

/** `n`: the client knows of no channel binding; `y`: it does, and believes that the server does not; `p`: it uses it. */
export type BindingFlag = 'n' | 'y' | 'p';

export interface ClientFirst {
  readonly flag: BindingFlag;
  /** Of `p`. */
  readonly bindingType: string;
  /** What is proved to have been said: everything up to the bare message. */
  readonly gs2Header: string;
  readonly bare: string;
  readonly nonce: string;
}

export interface ClientFinal {
  /** In base64. */
  readonly binding: string;
  readonly nonce: string;
  readonly proof: Buffer;
  readonly withoutProof: string;
}

export class ScramRefusal extends Error {
  readonly told: GatewayError;

  constructor(told: GatewayError) {
    super(told.message);
    this.told = told;
  }
}

const proofBytes = 32;

export function malformed(detail: string): ScramRefusal {
  return new ScramRefusal({ sqlState: '08P01', message: 'malformed SCRAM message', detail });
}

/** @throws ScramRefusal */
export function readClientFirst(text: string): ClientFirst {
  const header = /^(n|y|p=([A-Za-z0-9.-]+)),([^,]*),/.exec(text);
  if (header === null) throw malformed('The message does not begin as it must.');
  const [gs2Header, flag = '', bindingType = '', authorization] = header;
  if (authorization !== '') {
    const message = 'client uses authorization identity, but it is not supported';
    throw new ScramRefusal({ sqlState: '0A000', message });
  }
  const bare = text.slice(gs2Header.length);
  if (bare.startsWith('m=')) {
    const message = 'client requires an unsupported SCRAM extension';
    throw new ScramRefusal({ sqlState: '0A000', message });
  }
  // The name in it is not used: that of the startup packet counts, as with PostgreSQL.
  const [, nonce] = /^n=[^,\0]*,r=([\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]=[^,\0]*)*$/.exec(bare) ?? [];
  if (nonce === undefined) throw malformed('The message has no user name and nonce where they must be.');
  return { flag: flag.charAt(0) as BindingFlag, bindingType, gs2Header, bare, nonce };
}

/** @throws ScramRefusal */
export function readClientFinal(text: string): ClientFinal {
  const parts =
    /^c=([A-Za-z0-9+/=]*),r=([\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-oq-z]=[^,\0]*)*,p=([A-Za-z0-9+/]+={0,2})$/.exec(
      text,
    );
  if (parts === null) throw malformed('The message has no binding, nonce and proof where they must be.');
  const [, binding = '', nonce = '', proofText = ''] = parts;
  const proof = Buffer.from(proofText, 'base64');
  if (proof.length !== proofBytes || proof.toString('base64') !== proofText) {
    throw malformed('Malformed proof in client-final-message.');
  }
  return { binding, nonce, proof, withoutProof: text.slice(0, -`,p=${proofText}`.length) };
}
