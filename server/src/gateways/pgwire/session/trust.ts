/**
 * Whether the commits of one session certainly wait to be chosen. They may not once the session has mentioned `synchronous_commit`.
 *
 * Responsible for: telling the replica, which then lets no answer of any session leave but behind a barrier. Invariant: that lasts until PostgreSQL's process of the session is gone and
 * what it left is chosen; or, where the setting may outlive the session, for the rest of the generation.
 */
import type { ClientService } from '../../../ports/client-service.ts';

export class Trust {
  private readonly service: Pick<ClientService, 'distrust' | 'barrier'>;
  private readonly generation: number;
  private restore: (() => void) | null = null;
  private lasting = false;

  constructor(service: Pick<ClientService, 'distrust' | 'barrier'>, generation: number) {
    this.service = service;
    this.generation = generation;
  }

  get isLost(): boolean {
    return this.restore !== null;
  }

  /** To be called before what the client mentions is passed on. */
  lose(options: { readonly lasting: boolean }): void {
    this.restore ??= this.service.distrust();
    this.lasting ||= options.lasting;
  }

  /** PostgreSQL's process is gone. */
  async sessionEnded(): Promise<void> {
    const { restore } = this;
    if (restore === null || this.lasting) return;
    this.restore = null;
    // What it left may be visible, and not chosen: if that cannot be found out, distrust lasts as long as the generation.
    if (await this.service.barrier(this.generation)) restore();
  }
}
