/** In the page's head: how many events the checker has held to the specification, and whether it keeps up. Nothing if there is no checker. */
import type { CheckStatus } from '../../../server/src/api/check.ts';
import { formatCount, formatMs } from '../model/format.ts';
import { checkTone, type CheckTone } from '../model/check-view.ts';
import './check-figure.css';

const titles: Readonly<Record<CheckTone, string>> = {
  good: 'Each of these events is a step that the TLA+ specification allows',
  busy: 'The checker is behind: these events are steps that the TLA+ specification allows, and more are to come',
  bad: 'An event is no step that the TLA+ specification allows, or the checker has ended',
};

export function CheckFigure({ check }: { readonly check: CheckStatus }) {
  const tone = checkTone(check);
  const { checked, behind, behindMs, skipped } = check;
  return (
    <div className="check-figure" title={titles[tone]} data-testid="check" data-state={tone}>
      <dt>As specified</dt>
      <dd>
        <span className="dot" data-tone={tone} aria-hidden="true" />
        <span data-testid="check-count">{formatCount(checked)}</span>
        {tone === 'busy' ? <small>{`${formatCount(behind)} to come, ${formatMs(behindMs)}`}</small> : null}
        {skipped > 0 ? <small>{`${formatCount(skipped)} skipped`}</small> : null}
      </dd>
    </div>
  );
}
