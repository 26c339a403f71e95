/** One choice of a few, as radio buttons in a row. */
import { useId } from 'react';
import type { ReactNode } from 'react';

export interface Choice<T extends string | number> {
  readonly value: T;
  readonly label: ReactNode;
  readonly testId?: string;
}

interface SegmentedProps<T extends string | number> {
  readonly label: string;
  readonly choices: readonly Choice<T>[];
  /** Null: none is chosen. */
  readonly value: T | null;
  readonly onChange: (value: T) => void;
  readonly disabled?: boolean;
}

export function Segmented<T extends string | number>(props: SegmentedProps<T>) {
  const name = useId();
  return (
    <div className="segmented" role="radiogroup" aria-label={props.label}>
      {props.choices.map((choice) => (
        <label key={choice.value} data-testid={choice.testId}>
          <input
            type="radio"
            name={name}
            checked={choice.value === props.value}
            disabled={props.disabled === true}
            onChange={() => props.onChange(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}
