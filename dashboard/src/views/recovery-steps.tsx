/** How far a replica's recovery is: its steps as one bar, the one it is at in words and figures. */
import type { ReplicaStatus } from '../../../server/src/api/status.ts';
import { recoveryView } from '../model/recovery-view.ts';
import './recovery-steps.css';

export function RecoverySteps({ status }: { readonly status: ReplicaStatus }) {
  const view = recoveryView(status);
  if (view === null) return null;
  const { id } = status;
  return (
    <section
      className="recovery"
      data-testid={`recovery-${id}`}
      data-phase={view.step}
      aria-label={`Recovery of ${id}`}
    >
      <p className="recovery-now">
        <span className="recovery-title">{view.title}</span>
        <span className="recovery-detail num" data-testid={`recovery-detail-${id}`}>
          {view.detail}
        </span>
      </p>
      {view.failure === null ? null : (
        <p className="recovery-failure" data-testid={`recovery-failure-${id}`}>
          {view.failure}
        </p>
      )}
      <ol className="recovery-steps">
        {view.steps.map((step) => (
          <li
            key={step.name}
            data-step={step.name}
            data-state={step.state}
            aria-current={step.state === 'now' ? 'step' : undefined}
          >
            <span className="recovery-bar" aria-hidden="true">
              <span style={{ width: `${Math.round(step.filled * 100)}%` }} />
            </span>
            <span className="recovery-label">{step.label}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
