/**
 * Lets a client's CancelRequest reach PostgreSQL only while it can do no harm.
 *
 * A cancel that has been sent on may strike later than its statement. Invariant: from `close` on none is sent, and `close` waits
 * for those on their way: PostgreSQL has signalled the backend by the time it closes the cancel's connection.
 */
export interface CancelGuard {
  /** Sends a cancel on with `deliver` unless that is not allowed now. */
  request(deliver: () => Promise<void>): Promise<void>;
  /** Allows none from here on. True if one was on its way: it may strike with the next command. */
  close(): Promise<boolean>;
  open(): void;
}

export const createCancelGuard = (): CancelGuard => {
  const underWay = new Set<Promise<void>>();
  let closed = false;
  let sentSinceOpen = false;
  return {
    async request(deliver) {
      if (closed) return;
      sentSinceOpen = true;
      const delivery = deliver().catch(() => {});
      underWay.add(delivery);
      await delivery;
      underWay.delete(delivery);
    },
    async close() {
      closed = true;
      if (underWay.size > 0) await Promise.all(underWay);
      return sentSinceOpen;
    },
    open() {
      closed = false;
      sentSinceOpen = false;
    },
  };
};
