/** Members where a group is founded with all of them: nobody is let in, or leaves. */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { JoinRequest } from '../../ports/control.ts';
import { Membership } from '../members/membership.ts';
import type { ProtocolParts } from './protocol-host.ts';

export function fixedMembership(
  { log, transport, timers, logger }: ProtocolParts,
  purgedTo: () => Slot,
): Membership {
  const { cluster, member } = log.identity;
  return new Membership({
    member,
    cluster,
    configuration: log.recovered.configuration,
    transport,
    reconfigure: () => undefined,
    leadership: () => ({ serving: false, leader: null }),
    purgedTo,
    timers,
    logger,
    onRemoved: (why) => logger.error({ why }, 'this replica is no member'),
  });
}

/** Tells whoever asks why it is not let in. */
export function refuseToJoin({ config, transport }: ProtocolParts, { replica, nonce }: JoinRequest): void {
  transport.sendControl(replica, {
    kind: 'JoinReply',
    nonce,
    code: 'refused',
    // Whoever founds a log for a member of this group anew brings it back without what it had promised.
    reason: `members are fixed where the protocol is ${config.protocol}: a member that has lost its log must not come back, for it does not know what it had promised. The others go on without it; a group with another member is a new group`,
    leader: null,
    admission: null,
  });
}
