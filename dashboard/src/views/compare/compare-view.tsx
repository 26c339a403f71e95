/** Naive beside ours: two groups of one seed that befall the same acts at the same time, one of which lacks a rule. Owns which rule that is, and the two runs. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { useRun } from '../../components/run.tsx';
import { Segmented } from '../../components/segmented.tsx';
import { openPair, type PairedRun } from '../../compare/pair.ts';
import { addressWithVariant, variantIn } from '../../compare/variant-address.ts';
import { startNaive } from '../../compare/start-naive.ts';
import { type Variant, type VariantId, variants } from '../../compare/variants.ts';
import { startSimulator } from '../../run/start-simulator.ts';
import type { Tone } from '../../model/cluster-view.ts';
import { PairView } from './pair-view.tsx';
import './compare-view.css';

interface CompareViewProps {
  readonly themeKey: string;
  readonly showToast: (tone: Tone, text: string) => void;
}

const choices = variants.map(({ id, title }) => ({ value: id, label: title, testId: `variant-${id}` }));

export function CompareView({ themeKey, showToast }: CompareViewProps) {
  useHeldWorld();
  const [id, setId] = useVariant();
  const [turn, setTurn] = useState(1);
  const variant = variants.find((one) => one.id === id)!;
  return (
    <div className="compare" data-testid="compare">
      <header className="compare-head">
        <Segmented label="The rule that is taken out" choices={choices} value={id} onChange={setId} />
      </header>
      <OpenedPair
        key={`${id} ${turn}`}
        variant={variant}
        themeKey={themeKey}
        onRestart={() => setTurn((last) => last + 1)}
        showToast={showToast}
      />
    </div>
  );
}

/** The one that the address names; null: it names none that there is. */
function namedVariant(): VariantId | null {
  return variants.find((one) => one.id === variantIn(location.hash))?.id ?? null;
}

/** As the address says, also when a link leads to another; else the first. */
function useVariant(): readonly [VariantId, (id: VariantId) => void] {
  const [id, setId] = useState<VariantId>(() => namedVariant() ?? variants[0]!.id);
  useEffect(() => {
    const follow = (): void => setId((last) => namedVariant() ?? last);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [
    id,
    (next) => {
      setId(next);
      history.replaceState(null, '', addressWithVariant(location.hash, next));
    },
  ];
}

/** Two worlds for as long as it is shown. */
function OpenedPair(props: CompareViewProps & { readonly variant: Variant; readonly onRestart: () => void }) {
  const [cell] = useState(() => pairCell(props.variant));
  const pair = useSyncExternalStore(cell.subscribe, cell.get);
  return pair === null ? null : <PairView pair={pair} {...props} />;
}

/** Is opened when somebody looks, and closed when nobody does any more. */
function pairCell({ id, setup, fromMs }: Variant) {
  let pair: PairedRun | null = null;
  return {
    get: (): PairedRun | null => pair,
    subscribe: (): (() => void) => {
      const opened = openPair({
        naive: startNaive(id),
        ours: startSimulator(),
        setup,
        fromMs,
        goesOn: true,
      });
      pair = opened;
      return () => {
        opened.close();
        pair = null;
      };
    },
  };
}

/** The page's own simulated world stands while nobody sees it. */
function useHeldWorld(): void {
  const { world } = useRun().source;
  useEffect(() => {
    const pace = world?.pace();
    if (world === null || pace?.mode !== 'running') return undefined;
    world.pause();
    return () => world.run(pace.speed);
  }, [world]);
}
