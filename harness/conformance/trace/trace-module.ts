/** Writes segments, of one trace or of many, as a model to be run with TraceMultiPaxos. */
import type { RecordedModel } from '../judge/recorded-model.ts';
import type { TraceNames } from './literal-names.ts';
import { segmentLiteral } from './segment-literal.ts';
import type { Segment } from './segments.ts';

const TRACE_MODULE = 'TraceRun';
const DATA_MODULE = 'TraceData';

/** A segment with the trace that it was cut from. */
export interface Piece {
  readonly segment: Segment;
  readonly trace: TraceNames;
}

export interface ModuleOptions {
  /** Prints each step that is reached, and the state at the end, to find out where and why a segment is rejected. */
  readonly diagnose?: boolean;
  /** Leaves out what the last step asserts, so that the spec's own outcome can be shown. */
  readonly unassertLast?: boolean;
}

/** Each segment brings its own founders and slots, so that those of different groups go together. */
export function traceModule(pieces: readonly Piece[], options: ModuleOptions): RecordedModel {
  const literals = pieces.map(({ segment, trace }) => segmentLiteral(segment, trace, options.unassertLast));
  const replicas = Math.max(...pieces.map(({ trace }) => trace.members.length));
  const text = `---- MODULE ${TRACE_MODULE} ----
EXTENDS ${DATA_MODULE}, TraceMultiPaxos
RunFounders == Segments[segment].founders
RunSlots == 1..Segments[segment].slots
RunInit == TraceInit(Segments)
RunNext == TraceNext(Segments)
RunSpec == RunInit /\\ [][RunNext]_traceVars
RunProgress == Progress(Segments)${options.diagnose === true ? ' /\\ EachStep /\\ ShowState(Segments)' : ''}
====
`;
  const config = `SPECIFICATION RunSpec
CONSTANTS
  Replicas = {${Array.from({ length: replicas }, (_, i) => i + 1).join(', ')}}
  Ballots <- NoBallots
  MaxSlot = 1000000000
  MaxBatch = 1000000000
  WindowSlots = 1000000000
  MaxCrashes = 1000000000
  Founders <- RunFounders
  Slots <- RunSlots
  Proposable <- AnyVoters
  MayFollow <- AtMostOneVoterApart
  Max <- FastMax
INVARIANT RunProgress
VIEW TraceView
CHECK_DEADLOCK FALSE
`;
  return {
    module: TRACE_MODULE,
    text,
    data: { module: DATA_MODULE, name: 'Segments', literal: `<<\n${literals.join(',\n')}\n>>` },
    specs: ['MultiPaxos', 'Consensus', 'TraceMultiPaxos'],
    config,
  };
}
