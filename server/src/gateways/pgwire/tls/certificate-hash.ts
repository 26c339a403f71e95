/**
 * The hash of a server's certificate to which a client can bind its proof of a password (RFC 5929, tls-server-end-point): made with the algorithm with which the certificate is signed, and SHA-256 instead of MD5 and SHA-1.
 *
 * Responsible for: finding that algorithm in the certificate (DER). A certificate whose signature has no hash of its own (Ed25519) has none.
 */
import { createHash } from 'node:crypto';

const hashes: Readonly<Record<string, string>> = {
  // RSA: MD5, SHA-1, SHA-2.
  '2a864886f70d010104': 'sha256',
  '2a864886f70d010105': 'sha256',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a864886f70d01010e': 'sha224',
  // ECDSA: SHA-1, SHA-2.
  '2a8648ce3d0401': 'sha256',
  '2a8648ce3d040301': 'sha224',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  // Hashes by themselves, as parameters of RSASSA-PSS.
  '2b0e03021a': 'sha256',
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
  '608648016503040204': 'sha224',
};
const rsaPss = '2a864886f70d01010a';

/** `der`: the certificate. Null: no client can bind to it. */
export function endpointOf(der: Buffer): Buffer | null {
  const algorithm = signatureHash(der);
  return algorithm === null ? null : createHash(algorithm).update(der).digest();
}

function signatureHash(der: Buffer): string | null {
  // Certificate: a sequence of what is signed, the algorithm (a sequence of its name and its parameters), and the signature.
  const [, algorithm] = partsOf(partsOf(der)[0]?.content);
  const [name, parameters] = partsOf(algorithm?.content);
  const text = name?.content.toString('hex') ?? '';
  if (text !== rsaPss) return hashes[text] ?? null;
  // The hash is the first of the parameters, marked with [0]; the default is SHA-1.
  const [marked] = partsOf(parameters?.content);
  if (marked?.tag !== 0xa0) return 'sha256';
  const [hash] = partsOf(partsOf(marked.content)[0]?.content);
  return hashes[hash?.content.toString('hex') ?? ''] ?? null;
}

interface DerPart {
  readonly tag: number;
  readonly content: Buffer;
}

/** Those that stand one behind the other, as far as they can be read. */
function partsOf(bytes: Buffer = Buffer.alloc(0)): readonly DerPart[] {
  const parts: DerPart[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const short = bytes[at + 1]!;
    const lengthBytes = short < 0x80 ? 0 : short & 0x7f;
    const from = at + 2 + lengthBytes;
    if (lengthBytes > 4 || from > bytes.length) break;
    const length = lengthBytes === 0 ? short : bytes.readUIntBE(at + 2, lengthBytes);
    if (from + length > bytes.length) break;
    parts.push({ tag: bytes[at]!, content: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return parts;
}
