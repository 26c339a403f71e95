/** A recorded run that was checked, step by step: up to the event that is refused, or to its end. */
import { useMemo, useState } from 'react';
import type { Refusal, Verdict } from '../../spec/check-protocol.ts';
import type { Checked } from '../../spec/latest-check.ts';
import { layerOf, recordedWalk } from '../../spec/recorded-walk.ts';
import { modulesOf } from '../../spec/spec-files.ts';
import { type ModelText, modelTextOf } from '../../spec/walk.ts';
import { useLoaded } from './use-loaded.ts';
import { WalkView } from './walk-view.tsx';

interface RecordedViewProps {
  readonly checked: Checked;
  readonly verdict: Verdict;
}

async function load(module: string): Promise<ModelText> {
  return modelTextOf(await modulesOf(module));
}

export function RecordedView({ checked, verdict }: RecordedViewProps) {
  const layer = verdict.layers.find(({ refusal }) => refusal !== null) ?? verdict.layers[0];
  const text = useLoaded(layer?.module ?? 'MultiPaxos', load);
  if (text.kind !== 'there') return <p className="empty">{text.kind === 'failed' ? text.message : ''}</p>;
  return (
    <Shown
      checked={checked}
      module={layer?.module ?? 'MultiPaxos'}
      refusal={layer?.refusal ?? null}
      text={text.value}
    />
  );
}

function Shown({
  checked,
  module,
  refusal,
  text,
}: {
  readonly checked: Checked;
  readonly module: string;
  readonly refusal: Refusal | null;
  readonly text: ModelText;
}) {
  const { walk, at: refusedAt } = useMemo(
    () => recordedWalk(checked.events, { layer: layerOf(module), about: refusal?.event ?? null }, text),
    [checked.events, module, refusal, text],
  );
  const [at, setAt] = useState<number | null>(null);
  if (walk.length === 0) return <p className="empty">There is no event of this specification in the run.</p>;
  const shown = Math.min(at ?? refusedAt ?? walk.length - 1, walk.length - 1);
  return (
    <WalkView
      walk={walk}
      text={text}
      at={shown}
      onStep={setAt}
      brokenAt={refusedAt}
      head={
        <header className="spec-bug" data-testid="recorded-words">
          <h2>{checked.title}</h2>
          <p>
            {refusedAt === null
              ? 'The last events, each beside the action of the specification that it is.'
              : 'The events up to the one that is refused, each beside the action of the specification that it claims to be.'}
          </p>
        </header>
      }
      outcome={refusal !== null && shown === refusedAt ? <Refused refusal={refusal} /> : null}
    />
  );
}

function Refused({ refusal: { action, replica, reason } }: { readonly refusal: Refusal }) {
  return (
    <section className="spec-outcome" data-testid="refused">
      <h3>
        <span className="dot" data-tone="bad" aria-hidden="true" />
        <span>
          <span className="mono">{action}</span> of <span className="mono">{replica}</span> is refused
        </span>
      </h3>
      <p>{reason}</p>
    </section>
  );
}
