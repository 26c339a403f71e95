/** A Thrift gateway before an SQL gateway before a test's PostgreSQL. */
import type { PgwireListener } from '../../pgwire/listener.ts';
import type { TlsFiles } from '../../pgwire/tls/tls-identity.ts';
import { createThriftListener, type ThriftListener } from '../door/listener.ts';
import type { ThriftLimits } from '../limits.ts';

export interface DoorOptions {
  readonly limits?: Partial<ThriftLimits>;
  readonly tls?: TlsFiles;
  readonly host?: string;
  readonly plaintextPasswords?: boolean;
  readonly onWarn?: (fields: object) => void;
}

export function openDoor(pgwire: PgwireListener, options: DoorOptions = {}): Promise<ThriftListener> {
  const { onWarn = () => undefined, host = '127.0.0.1', plaintextPasswords = false, ...rest } = options;
  return createThriftListener({
    ...rest,
    host,
    port: 0,
    plaintextPasswords,
    connectAs: (link) => pgwire.connectAs(link),
    logger: { info: () => undefined, warn: onWarn },
  });
}
