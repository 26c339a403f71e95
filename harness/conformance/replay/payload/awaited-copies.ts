/**
 * Copies of a database that come when the behaviour has them come, to a replica that asks for one.
 *
 * Responsible for: the other end of replaceDatabase, which is the server's own: whom it asks, what it receives, and that an attempt fails.
 */
import { Duplex } from 'node:stream';
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { CopyError, type CopiedDatabase } from '../../../../server/src/ports/copy.ts';
import type { DatabaseDirectory, Loss } from '../../../../server/src/ports/database-directory.ts';
import {
  replaceDatabase,
  type ReplaceOptions,
} from '../../../../server/src/replica/database/replace-database.ts';
import type { SteppedPostgres } from './stepped-postgres.ts';

interface Receiving {
  readonly finish: (copy: CopiedDatabase) => void;
  readonly fail: (error: Error) => void;
}

type Parts = Pick<ReplaceOptions, 'tracker' | 'timers' | 'logger'> & {
  readonly directory: DatabaseDirectory;
};

const nothingYet = { bytesCompared: 0, bytesToCompare: 0, bytesReceived: 0 };

export class AwaitedCopies {
  private readonly postgres: SteppedPostgres;
  private ask: ((source: ReplicaId) => void) | null = null;
  private receiving: Receiving | null = null;
  private attempt = new AbortController();

  constructor(postgres: SteppedPostgres) {
    this.postgres = postgres;
  }

  get isAsked(): boolean {
    return this.ask !== null;
  }

  get isReceived(): boolean {
    return this.receiving !== null;
  }

  /** From this replica. @throws Error if none is asked for */
  begin(source: ReplicaId): void {
    if (this.ask === null) throw new Error('the payload does not ask for a copy');
    this.ask(source);
    this.ask = null;
  }

  /** All of it is there. @throws Error if none is received */
  end(copy: CopiedDatabase): void {
    if (this.receiving === null) throw new Error('no copy is received');
    this.receiving.finish(copy);
    this.receiving = null;
  }

  /** It comes to nothing. */
  fail(): void {
    this.receiving?.fail(new CopyError('transferFailed', 'the copy has ended'));
    this.receiving = null;
    this.attempt.abort(new Error('this attempt is over'));
  }

  /** The process that asked is gone. */
  forget(): void {
    this.ask = null;
    this.receiving = null;
  }

  /** Until a copy is there, or the payload has ended. */
  async replace(parts: Parts, loss: Loss, ended: AbortSignal): Promise<boolean> {
    while (!ended.aborted) {
      const source = await new Promise<ReplicaId>((resolve) => {
        this.ask = resolve;
      });
      this.attempt = new AbortController();
      const { signal } = this.attempt;
      const options: ReplaceOptions = {
        ...parts,
        onEvent: () => undefined,
        fetcher: { open: () => Promise.resolve(new Duplex()) },
        sources: () => [source],
        receive: async (_channel, from, onProgress, _signal, clear) => {
          await clear?.();
          return this.receive(parts.directory, { from, signal }, onProgress);
        },
      };
      const isReplaced = await replaceDatabase(options, loss, AbortSignal.any([ended, signal]));
      if (!signal.aborted) return isReplaced;
    }
    return false;
  }

  private async receive(
    directory: DatabaseDirectory,
    { from, signal }: { readonly from: ReplicaId; readonly signal: AbortSignal },
    onProgress: (progress: typeof nothingYet) => void,
  ): Promise<CopiedDatabase> {
    const { position } = this.postgres.disk.state!;
    await directory.write({ role: { kind: 'copying', from }, position, configuration: null });
    this.postgres.empty();
    onProgress(nothingYet);
    return new Promise<CopiedDatabase>((finish, fail) => {
      if (signal.aborted) fail(new CopyError('transferFailed', 'the copy has ended'));
      else this.receiving = { finish, fail };
    });
  }
}
