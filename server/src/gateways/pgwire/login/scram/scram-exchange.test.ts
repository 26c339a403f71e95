import { describe, expect, it } from 'vitest';
import { ScramClient, type ScramSaid, scramVerifier } from '../../testing/scram-client.ts';
import { ScramExchange, type ScramOptions, scram, scramPlus } from './scram-exchange.ts';
import { ScramRefusal } from './scram-messages.ts';
import { mockScramSecret, readScramSecret, type ScramSecret } from './scram-secret.ts';

const endpoint = Buffer.from('a hash of a certificate');

function secretOf(password: string, salt?: Buffer<ArrayBuffer>, iterations?: number): ScramSecret {
  const secret = readScramSecret(scramVerifier(password, salt, iterations));
  if (secret === null) throw new Error('the verifier cannot be read');
  return secret;
}
function exchange(change: Partial<ScramOptions> = {}): ScramExchange {
  return new ScramExchange({
    mechanism: scram,
    secret: secretOf('pencil'),
    isDoomed: false,
    endpoint: null,
    ...change,
  });
}
/** Goes through the whole exchange. */
function prove(
  said: ScramSaid,
  change: Partial<ScramOptions> = {},
  spoil?: (text: string) => string,
): boolean {
  const server = exchange(change);
  const client = new ScramClient(said);
  const first = server.begin(Buffer.from(client.first, 'latin1')).toString('latin1');
  return server.end(Buffer.from(client.final(first, spoil), 'latin1')).isProven;
}

describe('SCRAM-SHA-256', () => {
  it('is that of RFC 7677', () => {
    const server = exchange({
      secret: secretOf('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'), 4096),
      nonce: '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
    });
    const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
    expect(server.begin(Buffer.from('n,,n=user,r=rOprNGfwEbeRWgbNEkqO')).toString()).toBe(
      `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`,
    );
    const final = `c=biws,r=${nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`;
    expect(server.end(Buffer.from(final))).toEqual({
      isProven: true,
      reply: Buffer.from('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='),
    });
  });

  it('is passed with the password, and with no other', () => {
    expect(prove({ password: 'pencil' })).toBe(true);
    expect(prove({ password: 'pencils' })).toBe(false);
    expect(prove({ password: 'pencil' }, { isDoomed: true })).toBe(false);
  });

  it('takes names and extensions that it does not use, and a client that knows of no binding', () => {
    const client = new ScramClient({ password: 'pencil' });
    for (const endpointOf of [null, endpoint]) {
      const server = exchange({ endpoint: endpointOf });
      const first = server.begin(Buffer.from(client.first)).toString();
      expect(server.end(Buffer.from(client.final(first, (text) => `${text},x=1`))).isProven).toBe(true);
    }
    expect(() => exchange().begin(Buffer.from('n,,n=some=2Cone,r=abc,x=y'))).not.toThrow();
  });

  it('binds to the certificate that the client was shown', () => {
    const plus = { mechanism: scramPlus, endpoint };
    const header = 'p=tls-server-end-point,,';
    expect(prove({ password: 'pencil', header, endpoint }, plus)).toBe(true);
    const other = Buffer.from('that of somebody in between');
    expect(() => prove({ password: 'pencil', header, endpoint: other }, plus)).toThrow(
      'binding check failed',
    );
    expect(() => prove({ password: 'pencil', header }, plus)).toThrow('binding check failed');
  });

  it('notices that somebody has hidden the binding from the client', () => {
    expect(() => prove({ password: 'pencil', header: 'y,,' }, { endpoint })).toThrow('negotiation error');
    expect(prove({ password: 'pencil', header: 'y,,' })).toBe(true);
    expect(() => prove({ password: 'pencil', header: 'y,,' }, {}, () => 'c=biws,r=x')).toThrow(
      'unexpected SCRAM channel-binding',
    );
  });

  it('takes no answer twice, and none without a beginning', () => {
    const server = exchange();
    const client = new ScramClient({ password: 'pencil' });
    const first = server.begin(Buffer.from(client.first)).toString();
    const final = Buffer.from(client.final(first));
    expect(server.end(final).isProven).toBe(true);
    expect(() => server.end(final)).toThrow('malformed');
    // Heard once, it is of no use in another exchange.
    const again = exchange();
    again.begin(Buffer.from(client.first));
    expect(() => again.end(final)).toThrow('invalid SCRAM response');
  });

  it.each([
    ['', '08P01'],
    ['n', '08P01'],
    ['n,,', '08P01'],
    ['x,,n=,r=abc', '08P01'],
    ['n,,n=,r=', '08P01'],
    ['n,,r=abc', '08P01'],
    ['n,,n=,r=a\u0000b', '08P01'],
    ['n,,n=,r=a b', '08P01'],
    ['n,,n=,r=abc,', '08P01'],
    ['p=tls-server-end-point,,n=,r=abc', '08P01'],
    ['n,a=postgres,n=,r=abc', '0A000'],
    ['n,,m=x,n=,r=abc', '0A000'],
  ])('refuses a first message that is none: %j', (text, sqlState) => {
    expect(() => exchange().begin(Buffer.from(text, 'latin1'))).toThrow(
      expect.objectContaining({ told: expect.objectContaining({ sqlState }) }),
    );
  });

  it.each(['n,,n=,r=abc', 'y,,n=,r=abc', 'p=tls-unique,,n=,r=abc', 'p=,,n=,r=abc'])(
    'refuses a first message that binds to nothing though it was chosen to: %s',
    (text) => {
      expect(() => exchange({ mechanism: scramPlus, endpoint }).begin(Buffer.from(text))).toThrow(
        ScramRefusal,
      );
    },
  );

  it.each([
    (text: string) => text.replace('c=biws', 'c=eSws'),
    (text: string) => text.replace('c=biws', 'c=biw'),
    (text: string) => text.replace(/r=.*/, 'r=abc'),
    (text: string) => `${text}x`,
    (text: string) => text.replace('c=biws,', ''),
    (text: string) => `${text},p=AAAA`,
    () => '',
  ])('refuses a last message that is none', (spoil) => {
    expect(() => prove({ password: 'pencil' }, {}, spoil)).toThrow(ScramRefusal);
  });

  it.each(['', 'AAAA', '='.repeat(44), 'A'.repeat(5_000)])('refuses a proof that is none: %s', (proof) => {
    const server = exchange();
    const first = server.begin(Buffer.from('n,,n=,r=abc')).toString();
    const nonce = /^r=([^,]*)/.exec(first)?.[1];
    expect(() => server.end(Buffer.from(`c=biws,r=${nonce},p=${proof}`))).toThrow('malformed');
  });
});

it('no message that was altered on its way proves anything', () => {
  const client = new ScramClient({ password: 'pencil' });
  const secret = secretOf('pencil');
  const altered = (text: string): Buffer[] =>
    Array.from({ length: text.length }, (_, at) => at).flatMap((at) =>
      [1, 0x20, 0x80].map((bit) => {
        const bytes = Buffer.from(text, 'latin1');
        bytes[at]! ^= bit;
        return bytes;
      }),
    );
  const isProven = (first: Buffer, final: (serverFirst: string) => Buffer): boolean => {
    const server = exchange({ secret });
    try {
      return server.end(final(server.begin(first).toString('latin1'))).isProven;
    } catch (error) {
      if (error instanceof ScramRefusal) return false;
      throw error;
    }
  };
  // A client that takes part in it counts what it has said itself.
  const honest = (serverFirst: string): string => client.final(serverFirst);
  for (const first of altered(client.first)) {
    expect(isProven(first, (serverFirst) => Buffer.from(honest(serverFirst), 'latin1'))).toBe(false);
  }
  const { length } = honest('r=x,s=AAAA,i=1');
  for (let at = 0; at < length; at += 7) {
    expect(
      isProven(Buffer.from(client.first, 'latin1'), (serverFirst) => {
        const all = altered(honest(serverFirst));
        return all[(at * 3) % all.length]!;
      }),
    ).toBe(false);
  }
});

describe('what is kept of a password', () => {
  it('is read as PostgreSQL writes it, and nothing else is taken for it', () => {
    const text = scramVerifier('x');
    expect(readScramSecret(text)?.iterations).toBe(4096);
    for (const other of [
      '',
      'md5e10adc3949ba59abbe56e057f20f883e',
      text.slice(1),
      `${text}x`,
      text.replace('$4096', '$0'),
    ])
      expect(readScramSecret(other)).toBeNull();
  });

  it('is made up for a role that is not there: always the same, for each another, and only by who knows the key', () => {
    const key = Buffer.from('key');
    const mock = mockScramSecret(key, 'nobody', 4096);
    expect(mockScramSecret(key, 'nobody', 4096)).toEqual(mock);
    expect(Buffer.from(mock.salt, 'base64')).toHaveLength(16);
    expect(mockScramSecret(key, 'no one', 4096).salt).not.toBe(mock.salt);
    expect(mockScramSecret(Buffer.from('another'), 'nobody', 4096).salt).not.toBe(mock.salt);
  });
});
