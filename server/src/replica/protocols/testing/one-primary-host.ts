/** A host of a primary and its copies under a test's control (one-host.ts): what its peers say, and what they hear. */
import type { Ballot, ReplicaId } from '../../../multipaxos/types/names.ts';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import { ballotNone } from '../../../multipaxos/ballot.ts';
import type { CopyMark } from '../../../ports/copy-mark.ts';
import type { Level } from '../../../primary/types/effects.ts';
import type { SentEntry } from '../../../primary/types/messages.ts';
import { testGroup } from '../../testing/configurations.ts';
import type { AnswerOutcome } from '../awaited-answers.ts';
import { decodePrimary, encodePrimary, type PrimaryMessage } from '../primary-codec.ts';
import { PrimaryHost } from '../primary-host.ts';
import { at, firstLife, type Life, m2, m3, OneHost, operation } from './one-host.ts';

export { at, m1, m2, m3, operation, textsOf } from './one-host.ts';

type Without<Each> = Each extends PrimaryMessage ? Omit<Each, 'group'> : never;
type Said = Without<PrimaryMessage>;
type Of<Kind extends PrimaryMessage['kind']> = Extract<PrimaryMessage, { kind: Kind }>;

export const failureTimeoutMs = 600;
export const acknowledgeMsMax = 1000;
export const windowSlotsMax = 8;

/** Longer than it takes to suspect a primary. */
export const silenceMs = 1200;

/** An operation `async!...` asks for that level. */
function levelAsked(text: Uint8Array): Level | undefined {
  const [, level] = /^(\w+)!/.exec(Buffer.from(text).toString()) ?? [];
  return level as Level | undefined;
}

export const bytesOf = (said: Said): Uint8Array => encodePrimary({ group: testGroup, ...said });

export const of2 = (round: number): Ballot => ({ round, replica: m2 });
export const of3 = (round: number): Ballot => ({ round, replica: m3 });

export function entryOf(text: string, request = 1): Entry {
  return {
    kind: 'command',
    group: testGroup,
    proposal: { client: 'elsewhere', request },
    payload: operation(text),
  };
}

export const beginning = (epoch: Ballot): SentEntry => ({
  epoch,
  entry: { kind: 'leaderStart', group: testGroup, ballot: epoch },
});

/** As the file that tells of it: it outlives the host. What was done to it, and how many records its log had been given by then. */
export class NotedMark implements CopyMark {
  isSet = false;
  readonly noted: { readonly isSet: boolean; readonly records: number }[] = [];
  recordsSoFar = (): number => 0;
  set(): void {
    this.isSet = true;
    this.noted.push({ isSet: true, records: this.recordsSoFar() });
  }
  clear(): void {
    if (this.isSet) this.noted.push({ isSet: false, records: this.recordsSoFar() });
    this.isSet = false;
  }
}

export class OnePrimaryHost extends OneHost<PrimaryHost> {
  readonly heard: { readonly by: ReplicaId; readonly message: PrimaryMessage }[];
  readonly mark: NotedMark;
  private readonly replication: Level;

  private constructor(life: Life, mark: NotedMark, replication: Level) {
    const heard: { by: ReplicaId; message: PrimaryMessage }[] = [];
    const settings = {
      replication,
      failureTimeoutMs,
      acknowledgeMsMax,
      dropSilentCopies: false,
      promoteAloneRiskingSplitBrain: false,
      sessionsMayLower: false,
    };
    super(
      life,
      { protocol: 'primary', primary: settings, bounds: { windowSlotsMax } },
      (parts) => new PrimaryHost(parts, settings, mark, levelAsked),
      (by, message) => {
        if (message.kind !== 'Carried' || message.channel !== 'primary') return;
        heard.push({ by, message: decodePrimary(message.bytes, testGroup) });
      },
    );
    this.heard = heard;
    this.mark = mark;
    this.replication = replication;
    mark.recordsSoFar = () => this.records.length;
  }

  static async start(replication: Level = 'majority'): Promise<OnePrimaryHost> {
    return new OnePrimaryHost(await firstLife(), new NotedMark(), replication);
  }

  async comeBack(): Promise<OnePrimaryHost> {
    return new OnePrimaryHost(await this.nextLife(), this.mark, this.replication);
  }

  /** `from` says this, and what comes of it has time to come. */
  async say(from: ReplicaId, said: Said, ms?: number): Promise<void> {
    this.carry(from, bytesOf(said), 'primary');
    await this.pass(ms);
  }

  /** Of this kind, heard by this peer so far. */
  of<Kind extends PrimaryMessage['kind']>(by: ReplicaId, kind: Kind): readonly Of<Kind>[] {
    return this.heard.flatMap((one) =>
      one.by === by && one.message.kind === kind ? [one.message as Of<Kind>] : [],
    );
  }

  get epoch(): Ballot {
    return this.host.standing().ballot;
  }

  // ------------------------------------------------------------------------------------------ it is the primary

  /** Nobody is heard, m2 gives its word, and has the first entry. */
  async lead(): Promise<void> {
    await this.pass(silenceMs);
    await this.say(m2, { kind: 'Word', epoch: this.epoch });
    await this.received(m2, this.host.standing().lastSlot);
  }

  /** A copy tells what it has: up to there on its disk, and executed. It answers what it has heard last. */
  async received(from: ReplicaId, to: number, executed = 0, ms?: number): Promise<void> {
    const { sentAtMs } = this.of(from, 'Operations').at(-1)!;
    const { epoch } = this;
    const slots = { received: at(to), executed: at(executed), goOnFrom: null, needsCopy: false };
    await this.say(from, { kind: 'Received', epoch, ...slots, sentAtMs }, ms);
  }

  /** Both copies are there all that time, and gain nothing. */
  async passHeard(ms: number, to: number): Promise<void> {
    const step = failureTimeoutMs / 3;
    for (let left = ms; left > 0; left -= step) {
      await this.received(m2, to, 0, 0);
      await this.received(m3, to, 0, Math.min(step, left));
    }
  }

  /** What a client of this replica hears of the operation at the slot. */
  answerOf(slot: number): { outcome: AnswerOutcome | null } {
    const answer: { outcome: AnswerOutcome | null } = { outcome: null };
    this.host.whenAnswerable(at(slot), (outcome) => {
      answer.outcome = outcome;
    });
    return answer;
  }

  // -------------------------------------------------------------------------------------------------- it is a copy

  /** The primary of the epoch sends these behind its entry at `prev`. */
  async operations(
    epoch: Ballot,
    prev: readonly [slot: number, epoch: Ballot],
    entries: readonly SentEntry[],
    { beginsAt = 1, settled = 0 }: { readonly beginsAt?: number; readonly settled?: number } = {},
  ): Promise<void> {
    await this.say(epoch.replica, {
      kind: 'Operations',
      epoch,
      prevSlot: at(prev[0]),
      prevEpoch: prev[1],
      entries,
      beginsAt: at(beginsAt),
      settled: at(settled),
      isStandby: true,
      sentAtMs: this.nowMs,
    });
  }

  /** m2 leads in epoch 1, and these come behind its first entry. */
  async follow(...texts: readonly string[]): Promise<void> {
    const epoch = of2(1);
    const entries = texts.map((text, index) => ({ epoch, entry: entryOf(text, index + 1) }));
    await this.operations(epoch, [0, ballotNone], [beginning(epoch), ...entries]);
  }
}
