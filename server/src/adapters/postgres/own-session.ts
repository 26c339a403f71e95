/**
 * The session in which a replica asks its PostgreSQL one thing after another, as the superuser.
 *
 * Responsible for: having one, opened when it is first needed and again when it is gone, and for giving one up behind whose question nobody is to wait.
 * Invariant: a session that was given up, or has ended, ends no other.
 */
import type { Client } from 'pg';
import { answerMs, connectPg } from './pg-client.ts';

export class OwnSession {
  private readonly place: { readonly socketDir: string };
  private readonly silentMsMax: number;
  private opening: Promise<Client> | null = null;

  /** `silentMsMax`: of one answer, whether or not anybody gives it up before. */
  constructor(place: { readonly socketDir: string }, silentMsMax: number = answerMs.quick) {
    this.place = place;
    this.silentMsMax = silentMsMax;
  }

  /** @throws whatever `pg` throws when PostgreSQL is away */
  get(): Promise<Client> {
    if (this.opening !== null) return this.opening;
    const { silentMsMax } = this;
    const { socketDir } = this.place;
    const opening = connectPg({ socketDir, database: 'postgres', silentMsMax }).then(
      (client) => {
        client.once('end', () => this.forget(opening));
        return client;
      },
      (error: unknown) => {
        this.forget(opening);
        throw error;
      },
    );
    this.opening = opening;
    return opening;
  }

  /** What is asked may be given up: then whoever asks next has another session, and this one is ended, whatever it is doing. @throws as `work`; that the session has ended */
  async ask<T>(givenUp: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    givenUp.throwIfAborted();
    const session = this.get();
    const give = (): void => this.giveUp(session);
    givenUp.addEventListener('abort', give, { once: true });
    try {
      return await work(await session);
    } finally {
      givenUp.removeEventListener('abort', give);
    }
  }

  /** Ends the session, if there is one. Never rejects. */
  async close(): Promise<void> {
    const session = this.opening;
    this.opening = null;
    await session?.then((client) => client.end()).catch(() => undefined);
  }

  private giveUp(session: Promise<Client>): void {
    this.forget(session);
    // One that does nothing at the moment says goodbye, one that waits for an answer is cut off.
    void session.then((client) => client.end()).catch(() => undefined);
  }

  /** Nothing more is asked. */
  end(): void {
    if (this.opening !== null) this.giveUp(this.opening);
  }

  /** PostgreSQL is stopped: the next one is asked in another. */
  drop(): void {
    this.opening = null;
  }

  private forget(session: Promise<Client>): void {
    if (this.opening === session) this.opening = null;
  }
}
