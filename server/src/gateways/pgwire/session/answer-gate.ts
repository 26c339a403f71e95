/**
 * Lets answers of PostgreSQL go only when they may (ClientService.mayAnswer; of linearizable reads at a standby StandbyReads.mayTell), and asks once for all that one turn of the event loop has brought.
 *
 * Sockets are read in the poll phase of the event loop; the check phase, which follows at once, asks and lets go. Where the answer is no, what has been read is kept back until
 * `awaitAnswer`; its session reads no further from PostgreSQL meanwhile, so what waits is bounded.
 * Invariant: bytes that were read after `mayAnswer` or `awaitAnswer` was called never leave on its word.
 */
import type { ClientService } from '../../../ports/client-service.ts';

/** What a session has read and not sent. */
export interface Gated {
  /** Sends what has been kept back, or else what has been read. */
  release(): void;
  /** Keeps back what has been read, apart from what is read from now on. */
  hold(): void;
  /** The generation is over: what is kept back never leaves. */
  refuse(): void;
}

export class AnswerGate {
  /** Or the life of the standby. */
  readonly generation: number;
  /** How often answers had to wait. */
  holds = 0;
  private readonly service: Pick<ClientService, 'mayAnswer' | 'awaitAnswer'>;
  private readonly check = (): void => this.letGo();
  private read: Gated[] = [];

  constructor(service: Pick<ClientService, 'mayAnswer' | 'awaitAnswer'>, generation: number) {
    this.service = service;
    this.generation = generation;
  }

  /** Something has been read for this one, who must not be added again before it is released or held. */
  add(gated: Gated): void {
    if (this.read.push(gated) === 1) setImmediate(this.check);
  }

  private letGo(): void {
    const all = this.read;
    this.read = [];
    if (this.service.mayAnswer(this.generation)) {
      for (const gated of all) gated.release();
      return;
    }
    this.holds += 1;
    for (const gated of all) gated.hold();
    void this.service.awaitAnswer(this.generation).then((may) => {
      for (const gated of all) {
        if (may) gated.release();
        else gated.refuse();
      }
    });
  }
}
