/** Which protocol a configuration asks for, where statements travel. */
import { MultiPaxosHost, type ProtocolParts } from '../replica/protocols/multi-paxos-host.ts';
import { PaxosHost } from '../replica/protocols/paxos-host.ts';
import type { ProtocolHost } from '../replica/protocols/protocol-host.ts';

/** @throws Error if it is not served yet, which the configuration says first */
export function protocolOf(parts: ProtocolParts): ProtocolHost {
  const { protocol } = parts.config;
  switch (protocol) {
    case 'multi-paxos':
      return new MultiPaxosHost(parts);
    case 'paxos':
      return new PaxosHost(parts);
    case 'primary':
      throw new Error(`protocol: ${protocol} is not served yet`);
    default:
      return protocol satisfies never;
  }
}
