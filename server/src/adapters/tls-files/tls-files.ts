/**
 * Certificate files that are looked at again and again, so that new ones are used without a restart.
 *
 * Responsible for: what is in force, when that ends, and telling both. Opens no connection; who does asks for what is in force each time, or is told of the change.
 * Invariants: what is in force was read whole and fits together; files that do not, as while they are being written, change nothing; a certificate that has expired never takes the place of one that has not.
 */
import type { CertificateStatus } from '../../api/status.ts';
import {
  CertificateError,
  type CertificatePaths,
  type Certificates,
  readCertificates,
} from './read-certificates.ts';

export interface TlsFilesOptions {
  /** As in the configuration, such as `peerTls`: begins what is told. */
  readonly name: string;
  readonly paths: CertificatePaths;
  readonly log: TlsFilesLog;
  /** Default: 10 s. */
  readonly everyMs?: number;
  /** Default: the time of day. */
  readonly now?: () => Date;
}

interface TlsFilesLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface TlsFiles {
  current(): Certificates;
  status(): CertificateStatus;
  /** Is called when other ones are in force. Returns the way to stop. */
  onChange(listener: (now: Certificates, before: Certificates) => void): () => void;
  /** Looks now. Never rejects. */
  look(): Promise<void>;
  close(): void;
}

const everyMsDefault = 10_000;
const dayMs = 24 * 3_600_000;
/** From so many days before the end on, it is told once a day. */
const warnDays = 14;

/** @throws CertificateError if they cannot be used now */
export async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const { name, paths, log, everyMs = everyMsDefault, now = () => new Date() } = options;
  const read = (): Promise<Certificates> => readCertificates(paths);
  const listeners = new Set<(now: Certificates, before: Certificates) => void>();
  let current = await read().catch((error: unknown) => {
    if (!(error instanceof CertificateError)) throw error;
    throw new CertificateError(`${name}: ${error.message}`, { cause: error });
  });
  let problem: string | null = null;
  /** Of the look before: files that are being written are whole at the next. */
  let suspicion: string | null = null;
  let warnedAtMs = Number.NEGATIVE_INFINITY;

  const tell = (found: string | null): void => {
    const isLasting = found === null || found === suspicion;
    suspicion = found;
    if (!isLasting || found === problem) return;
    problem = found;
    if (found === null) log.info({ name }, 'the certificate files are in order again');
    else
      log.error(
        { name, problem: found },
        'the certificate files cannot be used; those of before stay in force',
      );
  };
  const warn = (): void => {
    const nowMs = now().getTime();
    const leftMs = current.expiresAt.getTime() - nowMs;
    if (leftMs > warnDays * dayMs || nowMs - warnedAtMs < dayMs) return;
    warnedAtMs = nowMs;
    const fields = { name, expiresAt: current.expiresAt.toISOString() };
    if (leftMs <= 0) log.error(fields, 'the certificate has expired: the other side refuses it');
    else log.warn(fields, `the certificate expires in ${Math.floor(leftMs / dayMs)} days`);
  };
  const take = (found: Certificates): void => {
    if (isSame(found, current)) return tell(null);
    const nowMs = now().getTime();
    if (found.expiresAt.getTime() <= nowMs && current.expiresAt.getTime() > nowMs)
      return tell(`the certificate in ${paths.certificate} expired at ${found.expiresAt.toISOString()}`);
    const before = current;
    current = found;
    warnedAtMs = Number.NEGATIVE_INFINITY;
    tell(null);
    log.info({ name, expiresAt: found.expiresAt.toISOString() }, 'new certificates are in force');
    for (const listener of listeners) listener(found, before);
  };
  const lookOnce = async (): Promise<void> => {
    try {
      take(await read());
    } catch (error) {
      tell((error as Error).message);
    }
    warn();
  };
  // One look after the other: a slow one must not undo what a later one has found.
  let looking: Promise<void> = Promise.resolve();
  const look = (): Promise<void> => {
    looking = looking.then(lookOnce);
    return looking;
  };
  warn();
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();

  return {
    current: () => current,
    status: () => ({ name, expiresAt: current.expiresAt.toISOString(), problem }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    look,
    close: () => clearInterval(timer),
  };
}

function isSame(one: Certificates, other: Certificates): boolean {
  return one.certificate === other.certificate && one.key === other.key && one.authority === other.authority;
}
