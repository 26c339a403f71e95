/**
 * In which databases the functions for named transactions are known to be.
 *
 * Responsible for: asking the replica to make them before the first use in a generation, and again after many names, so that the oldest are forgotten.
 */
import type { ClientService } from '../../../../ports/client-service.ts';

/** As many names are given before the oldest are looked for. */
const namesBetween = 10_000;
const databasesMax = 1_000;

export class RequestDatabases {
  private readonly service: Pick<ClientService, 'prepareRequests'>;
  private readonly prepared = new Map<string, Promise<void>>();
  private readonly named = new Map<string, number>();

  constructor(service: Pick<ClientService, 'prepareRequests'>) {
    this.service = service;
  }

  /** @throws Error with the reason */
  ready(database: string, generation: number): Promise<void> {
    const key = `${generation} ${database}`;
    const known = this.prepared.get(key);
    if (known !== undefined) return known;
    if (this.prepared.size >= databasesMax) this.prepared.clear();
    const preparing = this.service.prepareRequests(database, generation);
    this.prepared.set(key, preparing);
    preparing.catch(() => this.forget(database));
    return preparing;
  }

  /** Something is missing there after all: the database was dropped and made again, say. */
  forget(database: string): void {
    for (const key of this.prepared.keys()) if (key.endsWith(` ${database}`)) this.prepared.delete(key);
  }

  /** One more transaction has used its name. */
  used(database: string, generation: number): void {
    const count = (this.named.get(database) ?? 0) + 1;
    if (this.named.size >= databasesMax) this.named.clear();
    this.named.set(database, count % namesBetween);
    if (count < namesBetween) return;
    // Names that stay for longer do no harm.
    this.service.prepareRequests(database, generation).catch(() => {});
  }
}
