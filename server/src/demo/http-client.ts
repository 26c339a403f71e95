/** Small JSON requests over HTTP, to this machine unless told otherwise, bounded in time and size. */
import { type Agent, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { ConnectionOptions } from 'node:tls';

/** Whom to believe that it is the other side. */
export type TlsTrust = Pick<ConnectionOptions, 'ca' | 'allowPartialTrustChain' | 'checkServerIdentity'>;

export interface JsonAnswer {
  readonly status: number;
  /** Undefined if the body is not JSON. */
  readonly body: unknown;
}

export interface JsonRequest {
  /** 127.0.0.1 unless given. */
  readonly host?: string;
  readonly port: number;
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly agent?: Agent;
  /** Null: without TLS. */
  readonly tls?: TlsTrust | null;
}

const bytesMax = 8 * 1024 * 1024;

/** @throws if there is no answer in time (code ECONNREFUSED, ETIMEDOUT and the like) */
export function requestJson(options: JsonRequest): Promise<JsonAnswer> {
  return new Promise((resolve, reject) => {
    const text = options.body === undefined ? null : JSON.stringify(options.body);
    const { tls = null } = options;
    const outgoing = (tls === null ? plainRequest : tlsRequest)(
      {
        ...tls,
        host: options.host ?? '127.0.0.1',
        port: options.port,
        path: options.path,
        method: options.method ?? 'GET',
        ...(options.agent === undefined ? {} : { agent: options.agent }),
        headers: {
          ...options.headers,
          ...(text === null
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        },
        // Covers the whole exchange: a frozen replica accepts connections and then says nothing.
        signal: AbortSignal.timeout(options.timeoutMs),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.byteLength;
          if (bytes > bytesMax) response.destroy(new Error('the answer is too large'));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: parse(Buffer.concat(chunks)) }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text ?? undefined);
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
