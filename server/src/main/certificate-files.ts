/**
 * The certificate files of a replica's configuration, each looked at again and again.
 *
 * Responsible for: which there are, and what all of them say. What is done with a file is adapters/tls-files.
 */
import type { Logger } from 'pino';
import { CertificateError, type CertificatePaths } from '../adapters/tls-files/read-certificates.ts';
import { openTlsFiles, type TlsFiles } from '../adapters/tls-files/tls-files.ts';
import type { CertificateStatus } from '../api/status.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { CliError, exitCodes } from './errors.ts';

export interface CertificateFiles {
  /** Null: without TLS. */
  readonly peers: { readonly certificates: TlsFiles; readonly required: boolean } | null;
  readonly http: TlsFiles | null;
  status(): readonly CertificateStatus[];
  /** Looks at all of them now. Never rejects. */
  look(): Promise<void>;
  close(): void;
}

/** @throws CliError if some cannot be used */
export async function openCertificateFiles(
  { peerTls, http: { tls } }: Pick<ReplicaConfig, 'peerTls' | 'http'>,
  log: Logger,
): Promise<CertificateFiles> {
  const all: TlsFiles[] = [];
  const close = (): void => {
    for (const files of all) files.close();
  };
  const open = async (name: string, paths: CertificatePaths): Promise<TlsFiles> => {
    const files = await openTlsFiles({ name, paths, log });
    all.push(files);
    return files;
  };
  try {
    const peers = peerTls === undefined ? null : await open('peerTls', { ...peerTls, isMutual: true });
    const http =
      tls === undefined
        ? null
        : await open('http.tls', { ...tls, authority: tls.authority ?? null, isMutual: false });
    if (peerTls?.required === false)
      log.warn(
        'peers without TLS are spoken with, too (peerTls.required): only while certificates are given out',
      );
    return {
      peers: peers === null ? null : { certificates: peers, required: peerTls?.required ?? true },
      http,
      status: () => all.map((files) => files.status()),
      look: async () => {
        await Promise.all(all.map((files) => files.look()));
      },
      close,
    };
  } catch (error) {
    close();
    if (!(error instanceof CertificateError)) throw error;
    throw new CliError(error.message, exitCodes.usage, { cause: error });
  }
}
