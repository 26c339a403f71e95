/** The picked slot: how far each replica is with it, and what it holds, which the server is asked for. */
import { Button } from '../components/button.tsx';
import { formatCount } from '../model/format.ts';
import { useSlot } from '../components/use-slot.ts';
import type { SlotLoad } from '../components/use-slot.ts';
import { formatBallot } from '../model/cluster-view.ts';
import { describeEntry } from '../model/entry-notes.ts';
import type { SlotRange } from '../model/event-text.ts';
import type { Payload } from '../model/protocol-view.ts';
import type { SlotVote } from '../model/replica-log.ts';
import type { Strip } from '../model/strips.ts';
import type { TraceModel } from '../model/trace-model.ts';
import { unreachable } from '../model/unreachable.ts';
import { SlotContentView } from './slot-content.tsx';
import { CellIcon } from './strip-row.tsx';

const hints: Readonly<Record<Payload, string>> = {
  wal: 'Every column is one slot of the log: mostly a range of WAL, the taller the larger. Point at one to read what it is, click for the transactions in it.',
  statements:
    'Every column is one slot of the log: one operation of a client’s session. Point at one to read whose it is, click for its statements.',
};

interface SlotInspectorProps {
  readonly selected: SlotRange | null;
  readonly strips: readonly Strip[];
  readonly trace: TraceModel;
  readonly payload: Payload;
  readonly onClose: () => void;
}

export function SlotInspector({ selected, strips, trace, payload, onClose }: SlotInspectorProps) {
  if (selected === null) {
    return <p className="slot-hint">{hints[payload]}</p>;
  }
  const slot = selected.from;
  const cells = strips.map((strip) => ({ id: strip.id, ...strip.cellAt(slot) }));
  const votes = cells.map((cell) => cell.vote).filter((vote) => vote !== null);
  const labels = [...new Set(votes.map((vote) => vote.label))];
  return (
    <div className="slot-inspector" data-testid="slot-inspector">
      <div className="slot-head">
        <strong className="num">Slot {formatCount(slot)}</strong>
        {labels.length === 1 ? <span className="mono quiet slot-label">{labels[0]}</span> : null}
        {selected.to > slot ? (
          <span className="quiet num">first of {formatCount(selected.to - slot + 1)} in this event</span>
        ) : null}
        <ul className="slot-cells">
          {cells.map((cell) => (
            <li key={cell.id}>
              <CellIcon kind={cell.kind} />
              <span className="mono">{cell.id}</span>{' '}
              <span className="quiet">{cell.kind === 'empty' ? 'nothing' : cell.kind}</span>
              {payload === 'statements' && cell.vote?.ballot === null ? null : <VoteNote vote={cell.vote} />}
            </li>
          ))}
        </ul>
        <Button tone="plain" icon="close" aria-label="Leave this slot" onClick={onClose} />
      </div>
      <Holds slot={slot} labels={labels} trace={trace} />
    </div>
  );
}

function VoteNote({ vote }: { readonly vote: SlotVote | null }) {
  if (vote === null) return null;
  return (
    <span className="quiet num">{vote.ballot === null ? '(learnt)' : `at ${formatBallot(vote.ballot)}`}</span>
  );
}

interface HoldsProps {
  readonly slot: number;
  /** Of what replicas have voted for here; more than one: they were of different minds. */
  readonly labels: readonly string[];
  readonly trace: TraceModel;
}

function Holds({ slot, labels, trace }: HoldsProps) {
  const load = useSlot(slot);
  const chosen = load.kind === 'loaded' ? load.answer.label : null;
  return (
    <>
      {labels.length > 1 ? (
        <ul className="slot-labels">
          {labels.map((label) => (
            <li key={label}>
              <span className="mono quiet">{label}</span> {describeEntry(label, trace.notes.get(label))}
              {label === chosen ? ' (chosen)' : ''}
            </li>
          ))}
        </ul>
      ) : null}
      {chosen === null ? null : <Effect label={chosen} trace={trace} />}
      <Loaded load={load} trace={trace} />
    </>
  );
}

/** That something changed nothing follows from the log below it, so that replicas tell it, and not the entry. */
function Effect({ label, trace }: { readonly label: string; readonly trace: TraceModel }) {
  const note = trace.notes.get(label);
  if (note === undefined || note.kind === 'verify' || note.kind === 'operation' || note.why === null)
    return null;
  return (
    <p className="slot-nobodys" data-testid="slot-nobodys">
      It changes nothing: {note.why}.
    </p>
  );
}

function Loaded({ load, trace }: { readonly load: SlotLoad; readonly trace: TraceModel }) {
  switch (load.kind) {
    case 'loading':
      return <p className="quiet slot-sentence">Reading the slot…</p>;
    case 'refused':
      return (
        <p className="quiet slot-sentence" data-testid="slot-refused" data-code={load.error.code}>
          {load.error.message}
        </p>
      );
    case 'loaded':
      return <SlotContentView content={load.answer.content} running={trace.running} />;
    default:
      return unreachable(load);
  }
}
