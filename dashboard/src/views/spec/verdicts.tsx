/** The verdict in words, for each specification that the run was held to. */
import { Button } from '../../components/button.tsx';
import { formatCount } from '../../model/format.ts';
import type { LayerVerdict, Refusal, Verdict } from '../../spec/check-protocol.ts';

interface VerdictsProps {
  readonly verdict: Verdict;
  /** Null: the run is not the one that the page shows. */
  readonly onJump: ((to: Refusal) => void) | null;
}

export function Verdicts({ verdict, onJump }: VerdictsProps) {
  return (
    <>
      {verdict.layers.map((layer) => (
        <Layer key={layer.module} layer={layer} onJump={onJump} />
      ))}
      {verdict.leftOut === null ? null : <p className="quiet">{verdict.leftOut}</p>}
    </>
  );
}

function Layer({
  layer,
  onJump,
}: {
  readonly layer: LayerVerdict;
  readonly onJump: VerdictsProps['onJump'];
}) {
  const { module, accepted, refusal, notJudged } = layer;
  const outcome = refusal !== null ? 'refused' : notJudged !== null ? 'notJudged' : 'accepted';
  const tone = { refused: 'bad', notJudged: 'warn', accepted: 'good' }[outcome];
  return (
    <section className="spec-layer" data-testid={`verdict-${module}`} data-outcome={outcome}>
      <h3>
        <span className="dot" data-tone={tone} aria-hidden="true" />
        <span className="mono">{module}</span>
      </h3>
      {outcome === 'accepted' ? (
        <p>Accepted: each of {formatCount(accepted)} events is a step that it allows.</p>
      ) : null}
      {notJudged === null ? null : <p>Not judged. {notJudged}</p>}
      {refusal === null ? null : (
        <>
          <p>
            Refused{refusal.number > 0 ? ` at event ${formatCount(refusal.number)}` : ''}:{' '}
            <span className="mono">
              {refusal.action} {refusal.replica}
            </span>
          </p>
          <p className="spec-reason" data-testid="refusal-reason">
            {refusal.reason}
          </p>
          {onJump === null || refusal.event === null ? null : (
            <Button data-testid="jump" onClick={() => onJump(refusal)}>
              Show it in the lab
            </Button>
          )}
        </>
      )}
    </section>
  );
}
