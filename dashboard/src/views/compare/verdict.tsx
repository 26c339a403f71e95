/** The conscience of one of the two worlds, and what there is to say of it: the first write that is lost, by whom it is missed, and the rule that prevents it. */
import type { LoadFinding, LoadStatus } from '../../../../server/src/api/load.ts';
import { formatCount } from '../../components/format.ts';
import { Terms } from '../../components/term.tsx';
import { useRun, useSelected } from '../../components/run.tsx';
import type { Variant } from '../../compare/variants.ts';
import { findRule } from '../../scenarios/rules.ts';
import { specTexts } from '../../scenarios/spec-texts.ts';

interface VerdictProps {
  readonly variant: Variant;
  readonly isNaive: boolean;
}

const none: Pick<LoadStatus, 'counts' | 'lost' | 'findings'> = {
  counts: { acknowledged: 0, refused: 0, unknown: 0, reads: 0, readsRefused: 0 },
  lost: 0,
};

export function Verdict({ variant, isNaive }: VerdictProps) {
  const load = useSelected(useRun(), ({ state }) => state.load.status) ?? none;
  const finding = load.findings?.find(({ kind }) => kind === variant.harm) ?? null;
  const isBad = load.lost > 0;
  return (
    <div className="compare-verdict" data-tone={isBad ? 'bad' : 'good'} data-testid="verdict">
      <dl className="compare-verdict-figures num">
        <Figure name="acknowledged" value={load.counts.acknowledged} />
        <Figure name="lost" value={load.lost} tone={isBad ? 'bad' : 'good'} />
        <Figure name="unknown" value={load.counts.unknown} />
      </dl>
      <div className="compare-verdict-words" aria-live="polite">
        {isNaive ? (
          <p>
            {finding === null ? (
              <span className="quiet">Every acknowledged write was found so far.</span>
            ) : (
              <>
                <strong data-testid="finding">{spellFinding(finding)}</strong>{' '}
                <Terms text={variant.happened} />
              </>
            )}
          </p>
        ) : (
          <>
            <p>
              <Terms text={variant.prevented} />
            </p>
            <Rule variant={variant} />
          </>
        )}
      </div>
    </div>
  );
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
      <dd data-testid={`figure-${name}`}>{formatCount(value)}</dd>
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

function spellFinding({ row, replica, acknowledgedAtMs, foundAtMs }: LoadFinding): string {
  const told = acknowledgedAtMs === null ? '' : `, acknowledged at ${seconds(acknowledgedAtMs)},`;
  return `Write ${row}${told} is not at ${replica}: found at ${seconds(foundAtMs)}.`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
