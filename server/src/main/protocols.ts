/** Which protocol a configuration asks for, where statements travel. */
import { join } from 'node:path';
import { copyMarkAt } from '../adapters/copy-mark.ts';
import { primaryDefaults } from '../config/config-schema.ts';
import { levelAskedBy } from '../payload/statements/operation.ts';
import { MultiPaxosHost } from '../replica/protocols/multi-paxos-host.ts';
import { PaxosHost } from '../replica/protocols/paxos-host.ts';
import { PrimaryHost } from '../replica/protocols/primary-host.ts';
import type { ProtocolHost, ProtocolParts } from '../replica/protocols/protocol-host.ts';

export function protocolOf(parts: ProtocolParts): ProtocolHost {
  const { protocol } = parts.config;
  switch (protocol) {
    case 'multi-paxos':
      return new MultiPaxosHost(parts);
    case 'paxos':
      return new PaxosHost(parts);
    case 'primary':
      return new PrimaryHost(
        parts,
        parts.config.primary ?? primaryDefaults,
        copyMarkAt(join(parts.config.dataDir, 'copy-needed')),
        levelAskedBy,
      );
    default:
      return protocol satisfies never;
  }
}
