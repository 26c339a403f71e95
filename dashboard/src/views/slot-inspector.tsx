/** What the picked slot holds: its entry, the SQL that a client sent, and how far each replica is with it. */
import { Button } from '../components/button.tsx';
import { formatCount } from '../components/format.ts';
import { formatBallot } from '../model/cluster-view.ts';
import type { SlotRange } from '../model/event-text.ts';
import type { SlotVote } from '../model/replica-log.ts';
import type { Strip } from '../model/strips.ts';
import type { TraceModel } from '../model/trace-model.ts';
import { CellIcon } from './strip-row.tsx';

interface SlotInspectorProps {
  readonly selected: SlotRange | null;
  readonly strips: readonly Strip[];
  readonly trace: TraceModel;
  readonly onClose: () => void;
}

export function SlotInspector({ selected, strips, trace, onClose }: SlotInspectorProps) {
  if (selected === null) {
    return (
      <p className="slot-hint">
        Every column is one slot of the log. Point at one to read its SQL, click to keep it.
      </p>
    );
  }
  const slot = selected.from;
  const cells = strips.map((strip) => ({ id: strip.id, ...strip.cellAt(slot) }));
  const votes = cells.map((cell) => cell.vote).filter((vote) => vote !== null);
  const labels = [...new Set(votes.map((vote) => vote.label))];
  return (
    <div className="slot-inspector" data-testid="slot-inspector">
      <div className="slot-head">
        <strong className="num">Slot {formatCount(slot)}</strong>
        {selected.to > slot ? (
          <span className="quiet num">first of {formatCount(selected.to - slot + 1)} in this event</span>
        ) : null}
        <ul className="slot-cells">
          {cells.map((cell) => (
            <li key={cell.id}>
              <CellIcon kind={cell.kind} />
              <span className="mono">{cell.id}</span>{' '}
              <span className="quiet">{cell.kind === 'empty' ? 'nothing' : cell.kind}</span>
              <VoteNote vote={cell.vote} />
            </li>
          ))}
        </ul>
        <Button tone="plain" icon="close" aria-label="Leave this slot" onClick={onClose} />
      </div>
      {labels.length === 0 ? (
        <p className="quiet">This slot was filled before the page was opened.</p>
      ) : (
        labels.map((label) => <EntryText key={label} label={label} sql={trace.statements.get(label)} />)
      )}
    </div>
  );
}

function VoteNote({ vote }: { readonly vote: SlotVote | null }) {
  if (vote === null) return null;
  return (
    <span className="quiet num">{vote.ballot === null ? '(learnt)' : `at ${formatBallot(vote.ballot)}`}</span>
  );
}

function EntryText({ label, sql }: { readonly label: string; readonly sql: readonly string[] | undefined }) {
  return (
    <div className="slot-entry">
      <span className="mono quiet">{label}</span>
      <pre className="mono" data-testid="slot-sql">
        {sql?.join(';\n') ?? entryMeaning(label)}
      </pre>
    </div>
  );
}

function entryMeaning(label: string): string {
  if (label === 'noop') return 'Fills a hole that an earlier leader left.';
  if (label.startsWith('start:')) return 'The first entry of a new leader.';
  return 'The SQL went by before the page was opened.';
}
