/** One of the two worlds: its stage, and under it what its clients were told and what has become of that. */
import { useState } from 'react';
import { useRun, useSelected } from '../../components/run.tsx';
import { Terms } from '../../components/term.tsx';
import type { Acts } from '../../components/use-acts.ts';
import type { Variant } from '../../compare/variants.ts';
import { findLeader } from '../../model/cluster-view.ts';
import type { Act } from '../../run/simulated/acts.ts';
import { MessagePopover, type Picked } from '../lab/message-popover.tsx';
import { Stage } from '../lab/stage.tsx';
import { Verdict } from './verdict.tsx';

interface CompareSideProps {
  readonly variant: Variant;
  readonly isNaive: boolean;
  readonly themeKey: string;
  readonly acts: Acts;
  readonly speed: number;
  /** All that was done to both worlds, or is to be. */
  readonly done: readonly Act[];
}

export function CompareSide({ variant, isNaive, themeKey, acts, speed, done }: CompareSideProps) {
  const store = useRun();
  const cluster = useSelected(store, (view) => view.state.cluster);
  const [picked, setPicked] = useState<Picked | null>(null);
  const name = isNaive ? 'The rule taken out' : 'As it is';
  return (
    <section className="compare-side" aria-label={name} data-testid={isNaive ? 'side-naive' : 'side-ours'}>
      <header className="compare-name">
        <strong>{name}</strong>
        <span>
          <Terms text={isNaive ? variant.without : variant.with} />
        </span>
      </header>
      <div className="lab-scene compare-scene">
        {cluster === null ? (
          <p className="quiet compare-making">The group is being founded…</p>
        ) : (
          <Stage
            cluster={cluster}
            leader={findLeader(cluster)?.id ?? null}
            themeKey={themeKey}
            acts={acts}
            speed={speed}
            onMessage={setPicked}
          />
        )}
        {picked === null ? null : <MessagePopover picked={picked} onClose={() => setPicked(null)} />}
      </div>
      <Verdict variant={variant} isNaive={isNaive} done={done} />
    </section>
  );
}
