/**
 * A client of a follower: its bytes go to the leader's gateway and back, untouched but for what that one tells this one (doubt-frame.ts).
 *
 * Responsible for: saying to the client what is true when the leader goes away. For that it reads along, as the leader's gateway does, and asks this replica what became of a transaction
 * that was under way. The gate of answers is the leader's.
 * Invariants: an error is put into the stream only between two messages; success is told only of what took effect and was not answered before.
 */
import type { Socket } from 'node:net';
import type { ClientService, Service } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../codec/backend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import { FrameSplitter } from '../codec/frame-splitter.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import { askOutcome, farewell, wordsAfter } from '../session/farewell.ts';
import { KnownTransaction } from '../session/known-transaction.ts';
import { RequestTracker } from '../session/request-tracker.ts';
import { Valve } from '../session/valve.ts';
import { TunnelReader } from './tunnel-reader.ts';

export interface TunnelOptions {
  readonly client: Socket;
  readonly leader: Extract<Service, { kind: 'at' }>;
  /** The leader's gateway has got the client's startup packet; paused (login/upstream-login.ts). */
  readonly upstream: Socket;
  readonly limits: PgwireLimits;
  readonly service: Pick<ClientService, 'outcomeOf' | 'outcomeOfRequest'>;
  /** PostgreSQL has let the client in. Returns why there is no room for it, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** Told what the client is told at the end, before its connection closes. */
  readonly onWords: (words: readonly Buffer[]) => void;
  /** Another leads, and neither the client nor the old leader has said anything but the startup packet: the client is to be placed anew. It is paused, and nothing of this tunnel listens to it any more. */
  readonly onUnheard: () => void;
}

/** `asking`: the leader is given up, and what became of the transaction is being found out. `closed`: the client has its last words, or is gone. */
type State = 'open' | 'asking' | 'closed';

export class Tunnel {
  readonly tracker = new RequestTracker();

  private readonly options: TunnelOptions;
  private readonly client: Socket;
  private readonly leader: Socket;
  private readonly clientValve: Valve;
  private readonly leaderValve: Valve;
  private readonly fromClient: FrameSplitter;
  private readonly reader: TunnelReader;
  private readonly known = new KnownTransaction(this.tracker);
  private state: State = 'open';
  private clientEnded = false;
  /** Something has passed, in either direction, behind the startup packet. */
  private heard = false;
  private readonly clientListeners: [event: string, listener: (chunk: Buffer) => void][] = [];
  private grace: NodeJS.Timeout | null = null;

  constructor(options: TunnelOptions) {
    const { client, upstream, limits } = options;
    this.options = options;
    this.client = client;
    this.leader = upstream;
    this.clientValve = new Valve(client);
    this.leaderValve = new Valve(this.leader);
    this.fromClient = new FrameSplitter(limits.frameBytesMax);
    this.reader = new TunnelReader({
      frameBytesMax: limits.frameBytesMax,
      tracker: this.tracker,
      known: this.known,
      onAuthenticated: () => {
        const refusal = options.onAuthenticated();
        if (refusal !== null) this.close([errorResponse('FATAL', refusal)]);
      },
    });
    this.tracker.startedUp();
    this.listen();
    upstream.resume();
    client.resume();
  }

  /** Another service: the old leader, if it lives, says how things ended; it is given a moment to. */
  onService(service: Service): void {
    if (this.grace !== null) clearTimeout(this.grace);
    this.grace = null;
    const { leader, limits } = this.options;
    if (this.state === 'closed' || (service.kind === 'at' && service.leader === leader.leader)) return;
    if (!this.heard) {
      this.leave();
      return;
    }
    const graceMs = service.kind === 'nowhere' ? limits.leaderWaitMs : limits.tunnelGraceMs;
    this.grace = setTimeout(() => this.end(errors.leaderWentAway), graceMs);
  }

  /** Nothing is lost by it: what the client has sent is known, and it was told nothing. */
  private leave(): void {
    this.state = 'closed';
    for (const [event, listener] of this.clientListeners) this.client.off(event, listener);
    this.leader.destroy();
    this.client.pause();
    this.options.onUnheard();
  }

  /** Tells the client what is true; if that is not known, finds it out first, or, with `atOnce`, says that it is unknown. */
  end(reason: GatewayError, { atOnce = false } = {}): void {
    if (this.state === 'closed' || (this.state === 'asking' && !atOnce)) return;
    const words = farewell({ tracker: this.tracker, told: this.reader, doubt: this.known.doubt }, reason);
    if (words.kind === 'words') this.close(words.bytes);
    else if (atOnce) this.close([errorResponse('FATAL', errors.outcomeUnknown(reason.message))]);
    else void this.ask(words.doubt, reason);
  }

  private async ask(doubt: Doubt, reason: GatewayError): Promise<void> {
    this.state = 'asking';
    this.leader.destroy();
    const outcome = await askOutcome(this.options.service, doubt, this.options.limits.outcomeWaitMs);
    if (this.state !== 'asking') return;
    this.close(wordsAfter({ tracker: this.tracker, told: this.reader }, outcome, reason));
  }

  private close(words: readonly Buffer[]): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    if (this.grace !== null) clearTimeout(this.grace);
    this.leader.destroy();
    if (!this.client.destroyed) this.options.onWords(words);
    closeWithWords(this.client, words, this.options.limits.lastWordsMs);
  }

  private onLeader(chunk: Buffer): void {
    if (this.state !== 'open') return;
    this.heard = true;
    try {
      this.send(this.reader.read(chunk));
      if (this.reader.leaderDoubts) this.end(errors.leaderWentAway);
    } catch (error) {
      const told = errorResponse('FATAL', errors.internalError(error));
      this.close(this.reader.atBoundary ? [told] : []);
    }
  }

  private send(views: readonly Buffer[]): void {
    const { client } = this;
    if (client.destroyed) return;
    let room = true;
    if (views.length > 1) client.cork();
    for (const view of views) room = client.write(view);
    if (views.length > 1) client.uncork();
    if (!room) this.leaderValve.pause('full');
  }

  private onClient(chunk: Buffer): void {
    if (this.state !== 'open') return;
    this.heard = true;
    try {
      this.fromClient.feed(chunk);
      while (this.fromClient.next()) this.tracker.sent(this.fromClient, chunk);
    } catch (error) {
      const told = errors.protocolViolation(error instanceof Error ? error.message : String(error));
      this.close(this.reader.atBoundary ? [errorResponse('FATAL', told)] : []);
      return;
    }
    if (!this.leader.write(chunk)) this.clientValve.pause('full');
  }

  /** The leader has closed the connection, or it broke. */
  private onLeaderGone(): void {
    if (this.tracker.terminated || this.clientEnded || this.reader.saidFatal) this.close([]);
    else this.end(errors.leaderWentAway);
  }

  private onClientEvent(event: string, listener: (chunk: Buffer) => void): void {
    this.client.on(event, listener);
    this.clientListeners.push([event, listener]);
  }

  private listen(): void {
    const { leader } = this;
    this.onClientEvent('data', (chunk: Buffer) => this.onClient(chunk));
    this.onClientEvent('drain', () => this.leaderValve.resume('full'));
    this.onClientEvent('end', () => {
      this.clientEnded = true;
      leader.end();
    });
    this.onClientEvent('close', () => this.close([]));
    leader.on('data', (chunk: Buffer) => this.onLeader(chunk));
    leader.on('drain', () => this.clientValve.resume('full'));
    // What is wrong shows in that the connection closes.
    leader.on('error', () => {});
    leader.on('close', () => this.onLeaderGone());
  }
}
