/** One client's connection with a modelled PostgreSQL, as the gateway holds it: what it asks is answered in order, until the session or PostgreSQL ends. */
import type { ModelRun } from './model-postgres.ts';
import type { ModelPrimary } from './model-primary.ts';
import type { Answer, ModelSession, Request } from './model-session.ts';
import type { Wire } from './wire.ts';

export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

export class ModelClient {
  private readonly session: ModelSession;
  private readonly toServer: Wire;
  private readonly toClient: Wire;
  private waiting: ((lost: SessionLost) => void)[] = [];
  private lostBecause: string | null = null;

  constructor(primary: ModelPrimary, run: ModelRun, toServer: Wire, toClient: Wire) {
    this.toServer = toServer;
    this.toClient = toClient;
    const gone = (): void => this.tellEnd('PostgreSQL has ended');
    run.onGone.add(gone);
    this.session = primary.connect((reason) => {
      run.onGone.delete(gone);
      this.tellEnd(reason);
    });
  }

  get pid(): number {
    return this.session.pid;
  }

  /** Of the transaction that is open. */
  get xid(): bigint | null {
    return this.session.xid;
  }

  /** @throws SessionLost */
  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.lostBecause !== null) {
        reject(new SessionLost(this.lostBecause));
        return;
      }
      this.waiting.push(reject);
      this.toServer.say(() => {
        void this.session.ask(request).then((answer) =>
          this.toClient.say(() => {
            this.waiting = this.waiting.filter((other) => other !== reject);
            resolve(answer);
          }),
        );
      });
    });
  }

  private tellEnd(reason: string): void {
    this.toClient.say(() => {
      if (this.lostBecause !== null) return;
      this.lostBecause = reason;
      for (const reject of this.waiting) reject(new SessionLost(reason));
    });
  }

  /** A cancel request takes a way of its own. */
  cancel(): void {
    this.toServer.say(() => this.session.cancel());
  }

  /** Somebody calls pg_terminate_backend. */
  terminate(): void {
    this.toServer.say(() => this.session.terminate(true));
  }

  close(): void {
    this.lostBecause ??= 'it was closed';
    this.toServer.say(() => this.session.close());
  }

  /** As far as the model can see it: for judges, not for gateways. */
  get isWaiting(): boolean {
    return this.session.isWaiting;
  }
}
