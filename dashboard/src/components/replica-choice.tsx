/** Which replica a panel is about: one button each, the leader's with its crown. */
import { Icon } from './icon.tsx';
import { Segmented } from './segmented.tsx';

interface ReplicaChoiceProps {
  readonly label: string;
  /** Of the handles for tests: `sql` for `sql-replica-r1`. */
  readonly name: string;
  readonly ids: readonly string[];
  readonly leader: string | null;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

export function ReplicaChoice({ label, name, ids, leader, value, onChange }: ReplicaChoiceProps) {
  return (
    <Segmented
      label={label}
      choices={ids.map((id) => ({
        value: id,
        testId: `${name}-replica-${id}`,
        label: (
          <>
            <span className="mono">{id}</span>
            {id === leader ? <Icon name="crown" /> : null}
          </>
        ),
      }))}
      value={value}
      onChange={onChange}
    />
  );
}
