/** A kept client between a test's own end and fake upstreams. */
import { type Duplex, duplexPair } from 'node:stream';
import { back } from '../../../pgwire/message-types.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { KeptBudgets } from '../kept/kept-budget.ts';
import type { ClientFunctions } from '../../../ports/client-functions.ts';
import { FunctionLooks, type FunctionsWatch } from '../kept/function-looks.ts';
import { TellingFunctions } from '../kept/telling-functions.ts';
import { KeptClient } from '../kept/kept-client.ts';
import { Turns } from '../kept/turns.ts';
import { ThreadShare } from '../session/thread-share.ts';
import type { Place } from '../kept/upstream.ts';
import { defaultLimits, type PgwireLimits } from '../limits.ts';
import { FakeUpstream } from './fake-upstream.ts';
import { leaderAt } from './helpers.ts';
import { createMemoryClientService, type MemoryClientService } from './memory-client-service.ts';
import { describeFrame, type Frame } from './wire-client.ts';

export interface KeptFixture {
  readonly service: MemoryClientService;
  readonly kept: KeptClient;
  readonly client: Duplex;
  readonly upstreams: FakeUpstream[];
  /** With which each upstream but the first was opened. */
  readonly logInSettings: readonly (readonly string[])[];
  /** What the client was told since the last call, one line a message, and nothing of what differs from one text of an error to another. */
  told(): string[];
  send(...messages: readonly Buffer[]): Promise<void>;
  readonly isClosed: () => boolean;
  /** It is to be placed anew. */
  readonly isUnheard: () => boolean;
  /** The newest upstream dies; another one serves behind it. */
  fail(): Promise<void>;
}

export interface KeptFixtureOptions {
  readonly limits?: Partial<PgwireLimits>;
  /** Made for each upstream, by its number. */
  readonly upstream?: (number: number) => FakeUpstream;
  readonly turns?: Turns;
  /** The client was let in before it came to its first upstream. */
  readonly isProven?: boolean;
}

const noFunctions: ClientFunctions = { mark: 'as they were', functions: [], unnamedTells: false };

/** Nothing tells but what is seen in texts. */
export const noFunctionsWatched: FunctionsWatch = {
  known: {
    mark: noFunctions.mark,
    telling: new TellingFunctions(new Map(), { tells: false, hides: false }, []),
    look: 1,
  },
  begun: 1,
  use: () => undefined,
  hurry: () => undefined,
  renew: () => Promise.resolve(),
  stop: () => undefined,
};

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 60; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export async function keptClient(options: KeptFixtureOptions = {}): Promise<KeptFixture> {
  const service = createMemoryClientService(null);
  const place = leaderAt(1) as Place;
  service.setService(leaderAt(1));
  const [client, far] = duplexPair();
  client.on('close', () => far.destroy());
  const upstreams: FakeUpstream[] = [];
  const logInSettings: (readonly string[])[] = [];
  function next(): Duplex {
    const number = upstreams.length + 1;
    const upstream = options.upstream?.(number) ?? new FakeUpstream({ pid: number });
    upstreams.push(upstream);
    return upstream.near;
  }
  let lines: string[] = [];
  let closed = false;
  let unheard = false;
  const splitter = new FrameSplitter(1 << 30);
  const gatherer = new FrameGatherer(1 << 26);
  client.on('data', (chunk: Buffer) => {
    splitter.feed(chunk);
    while (splitter.next()) {
      const bytes = gatherer.add(splitter, chunk);
      if (bytes !== null) lines.push(line({ type: String.fromCharCode(splitter.type), bytes }));
    }
  });
  client.on('end', () => {
    closed = true;
    client.end();
  });
  const kept = new KeptClient({
    client: far,
    place,
    upstream: next(),
    left: null,
    startup: {
      kind: 'startup',
      version: 3 << 16,
      parameters: [['user', 'u']],
      tunnelNonce: null,
    },
    isProven: options.isProven ?? false,
    limits: { ...defaultLimits, ...options.limits },
    service,
    open: (_place, _signal, settings = []) => {
      logInSettings.push(settings.map(([name, value]) => `${name}=${value}`));
      return Promise.resolve({ code: 'open', stream: next() });
    },
    turns: options.turns ?? new Turns(16),
    share: new ThreadShare(),
    functions: new FunctionLooks(() => Promise.resolve(noFunctions), defaultLimits.functionsLookMs),
    budget: new KeptBudgets(2 * (1 << 27)).of('one'),
    onAuthenticated: () => null,
    onWords: () => {},
    onKey: () => {},
    onRepeat: () => {},
    onUnheard: () => {
      unheard = kept.cancelTarget === null;
    },
  });
  service.onServiceChange((now) => kept.onService(now));
  await settle();
  if (options.isProven !== true) lines = [];
  return {
    service,
    kept,
    client,
    upstreams,
    logInSettings,
    told() {
      const all = lines;
      lines = [];
      return all;
    },
    async send(...messages) {
      client.write(Buffer.concat(messages));
      await settle();
    },
    isClosed: () => closed,
    isUnheard: () => unheard,
    async fail() {
      upstreams.at(-1)?.die();
      await settle();
    },
  };
}

function line(one: Frame): string {
  const text = describeFrame(one).replaceAll('\\0', '');
  return one.bytes[0] === back.errorResponse ? text.replace(/ M=.*/, '').replace('V=', '') : text;
}
