/** One message, read: what it is, who sent it to whom under which ballot, what it carries, and when it left and arrived. */
import { useRef } from 'react';
import { Dialog, Heading, Popover } from 'react-aria-components';
import type { Point } from '../../layout/ring.ts';
import { Term } from '../../components/term.tsx';
import { Fact } from '../../components/fact.tsx';
import { ballotCss } from '../../model/ballot-color.ts';
import { formatBallot } from '../../model/cluster-view.ts';
import { formatSlots } from '../../model/event-text.ts';
import type { Flight } from '../../run/flights.ts';
import { slotsOf } from '../../run/flown-message.ts';

export interface Picked {
  readonly flight: Flight;
  /** How many flew with it. */
  readonly count: number;
  readonly at: Point;
}

interface MessagePopoverProps {
  readonly picked: Picked;
  readonly onClose: () => void;
}

const labelsMax = 6;

export function MessagePopover({ picked, onClose }: MessagePopoverProps) {
  const anchor = useRef<HTMLSpanElement>(null);
  const { flight, count, at } = picked;
  const { message } = flight;
  return (
    <>
      <span className="lab-anchor" ref={anchor} style={{ left: at.x, top: at.y }} />
      <Popover
        key={flight.number}
        triggerRef={anchor}
        isOpen
        onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
        placement="top"
        offset={10}
        className="lab-popover"
      >
        <Dialog className="lab-dialog lab-dialog-message" data-testid="message-popover">
          <header className="lab-dialog-head">
            <Heading slot="title">
              {message?.kind ?? (flight.kind === 'heartbeat' ? 'Heartbeat' : 'HeartbeatAck')}
            </Heading>
            <span className="mono quiet">
              {flight.from} → {flight.to}
            </span>
          </header>
          <dl className="lab-facts num">
            {message === null || message.ballot.round === 0 ? null : (
              <Fact name={<Term word="ballot">Ballot</Term>}>
                <span
                  className="swatch"
                  style={{ background: ballotCss(message.ballot) }}
                  aria-hidden="true"
                />
                {formatBallot(message.ballot)}
              </Fact>
            )}
            {message?.firstSlot === undefined ? null : (
              <Fact name="About">{formatSlots(slotsOf(message))}</Fact>
            )}
            {message?.commitPoint === undefined ? null : (
              <Fact name={<Term word="commit point">Chosen up to</Term>}>{message.commitPoint}</Fact>
            )}
            {message?.promised === undefined ? null : (
              <Fact name={<Term word="promise">Promised</Term>}>{formatBallot(message.promised)}</Fact>
            )}
            <Fact name="Way">{spellWay(flight)}</Fact>
            {count > 1 ? <Fact name="Together with">{count - 1} more like it</Fact> : null}
          </dl>
          {message?.labels === undefined || message.labels.length === 0 ? null : (
            <p className="mono quiet lab-labels">
              {message.labels.slice(0, labelsMax).join(' ')}
              {message.labels.length > labelsMax ? ` and ${message.labels.length - labelsMax} more` : ''}
            </p>
          )}
          {message === null ? <p className="quiet">It changed nothing: only that it came is told.</p> : null}
        </Dialog>
      </Popover>
    </>
  );
}

function spellWay({ leftUs, arrivedUs, isLost }: Flight): string {
  if (isLost) return 'lost on the way';
  if (arrivedUs === null) return 'left; its arrival is not told of';
  if (leftUs === null) return 'arrived; when it left is not told of';
  return `${((arrivedUs - leftUs) / 1000).toFixed(2)} ms`;
}
