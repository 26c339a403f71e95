/**
 * Which functions of each database tell of state, as this replica's PostgreSQL knows it: looked at anew every few seconds while a kept session of that database is in use, and sooner where one of them has changed functions.
 *
 * Responsible for: one look for all sessions of a database, and that no client waits for it. Invariant: a look has begun behind everything that was answered before its number was given.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClientFunctions, FunctionsLook } from '../../../ports/client-functions.ts';
import { findTelling, type TellingFunctions } from './telling-functions.ts';

export interface KnownFunctions {
  readonly mark: string;
  readonly telling: TellingFunctions;
  /** The number of the look that has found them so. */
  readonly look: number;
}

/** What a session has of it. */
export interface FunctionsWatch {
  /** Null: nothing is known yet. */
  readonly known: KnownFunctions | null;
  /** So many looks have begun. */
  readonly begun: number;
  /** The session is in use. */
  use(): void;
  /** The session has changed functions: a look is wanted that begins behind this call. */
  hurry(): void;
  /** Resolves when such a look has ended, or `waitMs` are over. */
  renew(waitMs: number): Promise<void>;
  /** The session is over. */
  stop(): void;
}

/** `known`: the mark of what is known. Null: it could not be found out. Never rejects. */
export type LookAtFunctions = (database: string, known: string | null) => Promise<FunctionsLook | null>;

/** Before it is known whose functions a session may call. */
export const nothingWatched: FunctionsWatch = {
  known: null,
  begun: 0,
  use: () => undefined,
  hurry: () => undefined,
  renew: () => Promise.resolve(),
  stop: () => undefined,
};

/** One that could not be had is tried again so much later. */
const againMs = 100;
/** Those that are wanted at once, of all databases together, take no more than this part of the time. */
const shareOfTime = 0.1;
/** With more, those that no session is in are forgotten. */
const databasesMax = 100;

interface Watched {
  known: KnownFunctions | null;
  begun: number;
  isUsed: boolean;
  /** The one that is under way. */
  looking: Promise<void> | null;
  sessions: number;
}

export class FunctionLooks {
  private readonly look: LookAtFunctions;
  private readonly everyMs: number;
  private readonly databases = new Map<string, Watched>();
  private sessions = 0;
  /** The last of those that wait to look at once: one for each session at most. */
  private turn: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;

  constructor(look: LookAtFunctions, everyMs: number) {
    this.look = look;
    this.everyMs = everyMs;
  }

  watch(database: string): FunctionsWatch {
    const fresh: Watched = {
      known: null,
      begun: 0,
      isUsed: true,
      looking: null,
      sessions: 0,
    };
    const watched = this.databases.get(database) ?? fresh;
    this.forgetSome();
    this.databases.set(database, watched);
    watched.sessions += 1;
    this.sessions += 1;
    this.timer ??= setInterval(() => this.lookAtAll(), this.everyMs);
    watched.isUsed = true;
    // What is known is looked at again with all others: many may log in.
    if (watched.known === null) void this.lookAt(database, watched);
    let isOver = false;
    let hurries = false;
    const renew = (waitMs: number): Promise<void> => this.renew(database, watched, waitMs);
    return {
      get known() {
        return watched.known;
      },
      get begun() {
        return watched.begun;
      },
      use: () => {
        watched.isUsed = true;
      },
      renew,
      hurry: () => {
        if (hurries) return;
        hurries = true;
        const due = watched.begun + 1;
        this.turn = this.turn.then(async () => {
          // Whatever is answered from here on wants another one.
          hurries = false;
          if (!isOver && watched.begun < due) await this.hurry(database, watched);
        });
      },
      stop: () => {
        if (isOver) return;
        isOver = true;
        this.leave(watched);
      },
    };
  }

  /** What is known stays, for the next session. */
  private leave(watched: Watched): void {
    watched.sessions -= 1;
    this.sessions -= 1;
    if (this.sessions > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private forgetSome(): void {
    if (this.databases.size < databasesMax) return;
    for (const [database, { sessions }] of this.databases)
      if (sessions === 0) this.databases.delete(database);
  }

  private lookAtAll(): void {
    for (const [database, watched] of this.databases)
      if (watched.isUsed && watched.sessions > 0) void this.lookAt(database, watched);
  }

  /** Rests behind it, but no longer than until all are looked at again. Never rejects. */
  private async hurry(database: string, watched: Watched): Promise<void> {
    const beganMs = performance.now();
    await this.renew(database, watched, this.everyMs);
    await pause(Math.min(this.everyMs, (performance.now() - beganMs) / shareOfTime));
  }

  private async renew(database: string, watched: Watched, waitMs: number): Promise<void> {
    const due = watched.begun + 1;
    const untilMs = performance.now() + waitMs;
    while ((watched.known?.look ?? 0) < due && performance.now() < untilMs) {
      const hasFailed = watched.begun >= due && watched.looking === null;
      if (hasFailed) await pause(againMs);
      if ((watched.known?.look ?? 0) < due) await this.lookAt(database, watched);
    }
  }

  /** Or waits for the look that is under way. */
  private async lookAt(database: string, watched: Watched): Promise<void> {
    watched.looking ??= this.begin(database, watched);
    await watched.looking;
  }

  private async begin(database: string, watched: Watched): Promise<void> {
    watched.isUsed = false;
    watched.begun += 1;
    const look = watched.begun;
    const { known } = watched;
    try {
      const found = await this.look(database, known?.mark ?? null);
      if (found === null) watched.isUsed = true;
      else if (found !== 'same') watched.known = await knownBy(found, look);
      else if (known !== null) watched.known = { ...known, look };
    } catch {
      // Whatever is in those sources: every text tells.
      watched.known = null;
    }
    watched.looking = null;
  }
}

async function knownBy(found: ClientFunctions, look: number): Promise<KnownFunctions> {
  return { mark: found.mark, telling: await findTelling(found, breathe), look };
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
