/** The variables of a state: those that the step changed come first in the eye, and the others are there. */
import { shapeOf } from '../../spec/value-shape.ts';
import type { WalkStep } from '../../spec/walk.ts';
import { ValueView } from './value-view.tsx';

interface StatePanelProps {
  readonly step: WalkStep;
  /** Null: this is the first state. */
  readonly before: WalkStep | null;
}

export function StatePanel({ step, before }: StatePanelProps) {
  const names = [...step.values.keys()];
  const changed = names.filter((name) => step.changed.has(name));
  const others = names.filter((name) => !step.changed.has(name));
  return (
    <dl className="spec-variables">
      {[...changed, ...others].map((name) => (
        <div key={name} data-changed={step.changed.has(name)} data-testid={`variable-${name}`}>
          <dt className="mono">{name}</dt>
          <dd className="mono num">
            <ValueView shape={shapeOf(step.values.get(name)!, before?.values.get(name))} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
