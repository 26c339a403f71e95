/**
 * Has a judge look at what simulated groups of a primary and its copies did: specs/TracePrimaryCopies.tla says what each step means, and allows what PrimaryCopies allows.
 *
 * Responsible for: turning events into steps, epochs and replicas into numbers, and the verdict. An event that tells of several steps becomes as many.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { RecordedEvent } from '../../../server/src/primary/testing/simulated-group.ts';
import { judges, type JudgeName } from '../judge/judges.ts';
import type { RecordedModel } from '../judge/recorded-model.ts';
import { reachedSteps } from '../trace/layer-verdict.ts';

const MODULE = 'PrimaryTraceRun';
const DATA_MODULE = 'PrimaryTraceData';

/** `Reached` tells how far the run got; the others are the specification's own. */
const invariants = [
  'Reached',
  'ExecutedIsPrefix',
  'CanGoOn',
  'PrimaryKeepsItsLedger',
  'SemiIsReceived',
  'SyncIsExecuted',
  'MajorityIsKept',
  'SemiIsKept',
  'SyncIsKept',
  'LostIsTheEnd',
] as const;

interface Step {
  readonly event: RecordedEvent;
  readonly literal: string;
}

/** Null: the specification allows the run. Else the event that it does not. */
export async function refusedEvent(
  events: readonly RecordedEvent[],
  replicas: number,
  { judge = 'typescript', keepSlots = 8 }: { judge?: JudgeName; keepSlots?: number } = {},
): Promise<{ readonly index: number; readonly event: RecordedEvent; readonly literal: string } | null> {
  const epochs = epochsOf(events);
  const steps = stepsOf(events, epochs);
  const output = await judges[judge](modelOf(steps, replicas, epochs.length, keepSlots));
  const [reached = 0] = reachedSteps(output, 1);
  const failed = steps[reached - 1];
  return failed === undefined ? null : { index: reached - 1, event: failed.event, literal: failed.literal };
}

function epochsOf(events: readonly RecordedEvent[]): readonly Ballot[] {
  const all = events.flatMap(({ epoch, state }) => [epoch, state.lastEpoch]).filter(({ round }) => round > 0);
  const sorted = all.sort(compareBallots);
  return sorted.filter((ballot, index) => index === 0 || !sameBallot(ballot, sorted[index - 1]!));
}

function stepsOf(events: readonly RecordedEvent[], epochs: readonly Ballot[]): readonly Step[] {
  const crashed = new Set<ReplicaId>();
  return events.flatMap((event): Step[] => {
    const step = (name: string, isLast: boolean): Step => ({
      event,
      literal: literalOf(event, name, isLast, epochs),
    });
    const flushed = (isLast: (group: number) => boolean): Step[] =>
      Array.from({ length: event.groups ?? 0 }, (_, group) => step('Fsync', isLast(group + 1)));
    // The first life of a replica begins where the specification does.
    if (event.name === 'Restart') return crashed.delete(event.replica) ? [step('Restart', true)] : [];
    if (event.name === 'Fsync') return flushed((group) => group === event.groups);
    if (event.name !== 'Crash') return [step(event.name, true)];
    crashed.add(event.replica);
    return [...flushed(() => false), step('Crash', false)];
  });
}

function literalOf(
  event: RecordedEvent,
  name: string,
  isCompared: boolean,
  epochs: readonly Ballot[],
): string {
  const { replica, epoch, slot = 0, toSlot = 0, level = '', waited = [], isLarge = false, state } = event;
  const rank = (ballot: Ballot): number => epochs.findIndex((each) => sameBallot(each, ballot)) + 1;
  const number = (id: ReplicaId): string => id.slice(1);
  const { lastSlot, lastEpoch, matched, needsCopy, pushedTo, role } = state;
  const compared = `[n|->${lastSlot},f|->${rank(lastEpoch)},m|->${matched},k|->${needsCopy ? 'TRUE' : 'FALSE'},d|->${pushedTo},o|->"${role}"]`;
  const fields = `e|->${rank(epoch)},s|->${slot},t|->${toSlot},l|->"${level}",b|->${isLarge ? 'TRUE' : 'FALSE'},w|->{${waited.map(number).join(',')}}`;
  return `[a|->"${name}",r|->${number(replica)},${fields},c|-><<${isCompared ? compared : ''}>>]`;
}

function modelOf(steps: readonly Step[], replicas: number, epochs: number, keepSlots: number): RecordedModel {
  const many = 1_000_000;
  return {
    module: MODULE,
    text: `---- MODULE ${MODULE} ----\nEXTENDS ${DATA_MODULE}, TracePrimaryCopies\nKeptSlots == ${keepSlots}\n====\n`,
    data: {
      module: DATA_MODULE,
      name: 'RecordedRuns',
      literal: `<<<<\n${steps.map(({ literal }) => literal).join(',\n')}\n>>>>`,
    },
    specs: ['PrimaryCopies', 'TracePrimaryCopies'],
    config: [
      'SPECIFICATION TraceSpec',
      'VIEW TraceView',
      ...invariants.map((name) => `INVARIANT ${name}`),
      'CHECK_DEADLOCK FALSE',
      'CONSTANTS',
      `  Replica = {${Array.from({ length: replicas }, (_, i) => i + 1).join(', ')}}`,
      `  MaxEpoch = ${epochs}`,
      `  MaxLength = ${many}`,
      `  MaxCrashes = ${many}`,
      '  Levels <- AllThatReplicate',
      '  DropsSilent = TRUE',
      '  PromotesAlone = FALSE',
      '  Runs <- RecordedRuns',
      '  MayFind <- FindAnything',
      '  IsLarge <- IsToldLarge',
      '  KeepSlots <- KeptSlots',
      '  Nobody <- ZeroIsNobody',
      '',
    ].join('\n'),
  };
}
