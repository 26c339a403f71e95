/**
 * The trace as a list, newest first: filtered by replica, layer and text; it can be held still. A click shows the event's slots in the log.
 */
import { memo, useMemo, useState } from 'react';
import type { UIEvent } from 'react';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { Button } from '../components/button.tsx';
import { formatCount } from '../model/format.ts';
import { Panel } from '../components/panel.tsx';
import { ReplicaName } from '../components/replica-name.tsx';
import { rowWindow } from '../layout/row-window.ts';
import { layers, matches, newestFirst, noFilter, toggled } from '../model/event-filter.ts';
import type { EventFilter } from '../model/event-filter.ts';
import { describeEvent, slotsOf, weightOf } from '../model/event-text.ts';
import type { SlotRange } from '../model/event-text.ts';
import type { TraceModel } from '../model/trace-model.ts';
import './event-list.css';

const rowHeight = 26;

interface EventListProps {
  readonly trace: TraceModel;
  readonly ids: readonly string[];
  readonly onSelect: (range: SlotRange) => void;
}

export const EventList = memo(function EventList({ trace, ids, onSelect }: EventListProps) {
  const [filter, setFilter] = useState<EventFilter>(noFilter);
  const [held, setHeld] = useState<TraceModel | null>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 400 });
  const source = held ?? trace;
  const events = useMemo(
    () => newestFirst(source.events.filter((event) => matches(filter, event))),
    [source, filter],
  );
  const rows = rowWindow({
    rows: events.length,
    rowHeight,
    scrollTop: view.scrollTop,
    viewHeight: view.height,
    overscan: 8,
  });
  const missed = [...trace.logs.values()].reduce((sum, log) => sum + log.missed, 0);
  const waiting =
    held === null ? 0 : trace.firstIndex + trace.events.length - held.firstIndex - held.events.length;

  const onScroll = (event: UIEvent<HTMLElement>): void => {
    const { scrollTop, clientHeight } = event.currentTarget;
    setView({ scrollTop, height: clientHeight });
    // New rows come in at the top: a reader who has scrolled down would lose the place.
    if (scrollTop > rowHeight && held === null) setHeld(trace);
  };

  return (
    <Panel
      title="Events"
      className="events-panel"
      note={
        missed > 0 ? (
          <span
            className="badge"
            data-tone="warn"
            title="Events that the server has not sent: there were too many, or they came before the page was opened"
          >
            {formatCount(missed)} left out
          </span>
        ) : null
      }
      actions={
        <>
          <input
            className="event-search"
            type="search"
            placeholder="Find"
            aria-label="Find in events"
            data-testid="events-find"
            value={filter.text}
            maxLength={100}
            onChange={(event) => setFilter({ ...filter, text: event.target.value })}
          />
          <Button
            icon={held === null ? 'pause' : 'play'}
            aria-pressed={held !== null}
            data-testid="events-pause"
            onClick={() => setHeld(held === null ? trace : null)}
          >
            {held === null ? 'Pause' : `Paused${waiting > 0 ? `, ${formatCount(waiting)} new` : ''}`}
          </Button>
        </>
      }
    >
      <EventFilters filter={filter} ids={ids} onChange={setFilter} />
      <div
        className="events"
        tabIndex={0}
        role="region"
        aria-label="Events, newest first"
        data-testid="event-list"
        onScroll={onScroll}
      >
        {events.length === 0 ? (
          <p className="empty">
            {source.events.length === 0 ? 'No events yet.' : 'No event matches the filter.'}
          </p>
        ) : null}
        <ol style={{ paddingTop: rows.above, paddingBottom: rows.below }}>
          {events.slice(rows.first, rows.end).map((event) => (
            <EventRow key={`${event.run} ${event.seq}`} event={event} ids={ids} onSelect={onSelect} />
          ))}
        </ol>
      </div>
    </Panel>
  );
});

interface EventFiltersProps {
  readonly filter: EventFilter;
  readonly ids: readonly string[];
  readonly onChange: (filter: EventFilter) => void;
}

function EventFilters({ filter, ids, onChange }: EventFiltersProps) {
  return (
    <div className="event-filters" role="group" aria-label="Filter events">
      {ids.map((id) => (
        <button
          key={id}
          type="button"
          className="chip"
          aria-pressed={filter.replicas.has(id)}
          data-testid={`filter-${id}`}
          onClick={() => onChange({ ...filter, replicas: toggled(filter.replicas, id) })}
        >
          <ReplicaName id={id} ids={ids} />
        </button>
      ))}
      <span className="event-filters-gap" />
      {layers.map((layer) => (
        <button
          key={layer}
          type="button"
          className="chip"
          aria-pressed={filter.layers.has(layer)}
          data-testid={`filter-${layer}`}
          onClick={() => onChange({ ...filter, layers: toggled(filter.layers, layer) })}
        >
          {layer}
        </button>
      ))}
      <label className="check">
        <input
          type="checkbox"
          data-testid="events-routine"
          checked={filter.routine}
          onChange={(event) => onChange({ ...filter, routine: event.target.checked })}
        />
        routine
      </label>
    </div>
  );
}

interface EventRowProps {
  readonly event: TraceEvent;
  readonly ids: readonly string[];
  readonly onSelect: (range: SlotRange) => void;
}

function EventRow({ event, ids, onSelect }: EventRowProps) {
  const range = slotsOf(event);
  return (
    <li>
      <button
        type="button"
        className="event"
        data-weight={weightOf(event)}
        disabled={range === null}
        title={range === null ? undefined : 'Show its slots in the log'}
        onClick={() => {
          if (range !== null) onSelect(range);
        }}
      >
        <span className="event-time num" title="Seconds of the machine's clock">
          {(event.atUs / 1e6).toFixed(3)}
        </span>
        <span className="event-replica">
          <ReplicaName id={event.replica} ids={ids} />
        </span>
        <span className="event-name">{event.name}</span>
        <span className="event-text">{describeEvent(event)}</span>
      </button>
    </li>
  );
}
