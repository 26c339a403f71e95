/** What is on the stage, as buttons in its place: for the keyboard, for screen readers, and for the hand that takes a replica. Links are one stop of the keyboard; arrows go from one to the next. */
import { useRef, useState } from 'react';
import type { KeyboardEvent, PointerEvent } from 'react';
import type { LinkFault } from '../../../../server/src/api/status.ts';
import { describeFault, spellFault } from '../../model/cluster-view.ts';
import { linkKey } from '../../model/trace-model.ts';
import { curveOf, type Ends, linksOf, pointOn } from '../../stage/links.ts';
import { type Look, spellLook } from '../../stage/looks.ts';
import type { Places } from '../../stage/places.ts';

interface StageButtonsProps {
  readonly looks: readonly Look[];
  readonly faults: ReadonlyMap<string, LinkFault>;
  readonly places: Places;
  readonly onTake: (event: PointerEvent, replica: string) => void;
  readonly onMove: (event: PointerEvent) => void;
  readonly onDrop: (event: PointerEvent) => void;
  /** The browser has taken the pointer for something else: nothing is dropped. */
  readonly onGiveUp: () => void;
  readonly onReplica: (id: string) => void;
  readonly onLink: (link: Ends) => void;
  readonly onHover: (replica: string | null) => void;
}

export function StageButtons(props: StageButtonsProps) {
  const { looks, places } = props;
  return (
    <>
      <ul className="stage-replicas" aria-label="Replicas">
        {looks.map((look) => {
          const at = places.nodes.get(look.id);
          if (at === undefined) return null;
          const { radius } = places;
          return (
            <li key={look.id}>
              <button
                type="button"
                className="stage-replica"
                style={{ left: at.x - radius, top: at.y - radius, width: radius * 2, height: radius * 2 }}
                aria-label={spellLook(look)}
                aria-haspopup="dialog"
                data-testid={`node-${look.id}`}
                data-role={look.role}
                data-ballot={look.ballotText}
                onPointerDown={(event) => props.onTake(event, look.id)}
                onPointerMove={props.onMove}
                onPointerUp={props.onDrop}
                onPointerCancel={props.onGiveUp}
                onPointerEnter={() => props.onHover(look.id)}
                onPointerLeave={() => props.onHover(null)}
                onKeyDown={(event) => {
                  if (event.key !== 'Enter' && event.key !== ' ') return;
                  event.preventDefault();
                  props.onReplica(look.id);
                }}
              />
            </li>
          );
        })}
      </ul>
      <LinkButtons {...props} />
    </>
  );
}

function LinkButtons({ looks, faults, places, onLink }: StageButtonsProps) {
  const links = linksOf(looks.map(({ id }) => id));
  const [stop, setStop] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: 1,
      ArrowDown: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (index + step + links.length) % links.length;
    setStop(next);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <ul className="stage-links" aria-label="Links" ref={list}>
      {links.map((link, index) => {
        const from = places.nodes.get(link.from);
        const to = places.nodes.get(link.to);
        if (from === undefined || to === undefined) return null;
        const { at } = pointOn(curveOf(from, to, places.radius), 0.5);
        const fault = faults.get(linkKey(link.from, link.to)) ?? null;
        return (
          <li key={linkKey(link.from, link.to)}>
            <button
              type="button"
              className="stage-link"
              style={{ left: at.x - 11, top: at.y - 11 }}
              tabIndex={index === stop ? 0 : -1}
              aria-label={`Link ${link.from} to ${link.to}: ${fault === null ? 'whole' : spellFault(fault)}`}
              aria-haspopup="dialog"
              data-testid={`link-${link.from}-${link.to}`}
              data-fault={fault === null ? '' : describeFault(fault)}
              onFocus={() => setStop(index)}
              onClick={() => onLink(link)}
              onKeyDown={(event) => onKeyDown(event, index)}
            />
          </li>
        );
      })}
    </ul>
  );
}
