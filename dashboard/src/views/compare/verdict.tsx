/** The conscience of one of the two worlds, and what there is to say of it: the first write that is lost and the first that a read did not show, by whom each is missed, and the rule that prevents it. */
import type { LoadStatus } from '../../../../server/src/api/load.ts';
import { formatCount } from '../../model/format.ts';
import { Terms } from '../../components/term.tsx';
import { useMoment, useRun, useSelected } from '../../components/run.tsx';
import { spellFinding } from '../../model/conscience-figures.ts';
import { accountOf, type Looked } from '../../compare/account.ts';
import type { Variant } from '../../compare/variants.ts';
import type { Act } from '../../run/simulated/acts.ts';
import { findRule } from '../../scenarios/rules.ts';
import { specTexts } from '../../scenarios/spec-texts.ts';
import { listed } from '../../scenarios/words.ts';

interface VerdictProps {
  readonly variant: Variant;
  readonly isNaive: boolean;
  /** All that was done to both worlds, or is to be. */
  readonly done: readonly Act[];
}

const none: Pick<LoadStatus, 'counts' | 'lost' | 'stale' | 'risen'> = {
  counts: { acknowledged: 0, refused: 0, unknown: 0, reads: 0, readsRefused: 0 },
  lost: 0,
  stale: 0,
  risen: 0,
};

export function Verdict({ variant, isNaive, done }: VerdictProps) {
  const load = useSelected(useRun(), ({ state }) => state.load.status);
  const atMs = useMoment(200);
  const { looked, why, isChanged } = accountOf({ variant, isNaive, acts: done, atMs, load });
  const { counts, lost, stale = 0, risen } = load ?? none;
  const isBad = looked.kind === 'harm';
  return (
    <div className="compare-verdict" data-tone={isBad ? 'bad' : 'good'} data-testid="verdict">
      <dl className="compare-verdict-figures num">
        <Figure name="acknowledged" value={counts.acknowledged} />
        <Figure name="lost" value={lost} tone={lost > 0 ? 'bad' : 'good'} />
        <Figure name="stale reads" value={stale} tone={stale > 0 ? 'bad' : 'good'} />
        {risen > 0 ? <Figure name="risen" value={risen} tone="bad" /> : null}
        <Figure name="unknown" value={counts.unknown} />
      </dl>
      <div className="compare-verdict-words" aria-live="polite">
        <p>
          <LookedWords looked={looked} />
          {why === null ? null : (
            <>
              {' '}
              <Terms text={why} />
            </>
          )}
        </p>
        {isChanged ? (
          <p className="quiet" data-testid="plan-changed">
            You have changed the plan, so there are figures alone: Begin again to see it as it was planned.
          </p>
        ) : null}
        {isNaive ? null : <Rule variant={variant} />}
      </div>
    </div>
  );
}

function LookedWords({ looked }: { readonly looked: Looked }) {
  switch (looked.kind) {
    case 'nowhere':
      return <span className="quiet">Nobody has looked for what was acknowledged yet.</span>;
    case 'well':
      return (
        <span className="quiet">
          Every acknowledged write was found so far, wherever it was looked for: at {listed(looked.at)}.
        </span>
      );
    case 'harm':
      return looked.findings.length === 0 ? null : (
        <strong data-testid="finding">{looked.findings.map(spellFinding).join(' ')}</strong>
      );
    default:
      return looked satisfies never;
  }
}

function Figure({
  name,
  value,
  tone,
}: {
  readonly name: string;
  readonly value: number;
  readonly tone?: string;
}) {
  return (
    <div data-tone={tone}>
      <dd data-testid={`figure-${name.replace(' ', '-')}`}>{formatCount(value)}</dd>
      <dt>{name}</dt>
    </div>
  );
}

function Rule({ variant }: { readonly variant: Variant }) {
  const rule = findRule(specTexts, variant.rule);
  if (rule === null) return null;
  return (
    <p className="compare-verdict-rule">
      <span className="mono">
        {rule.file}:{rule.line}
      </span>
      <code className="mono">{rule.text.split('\n')[0]}</code>
    </p>
  );
}
