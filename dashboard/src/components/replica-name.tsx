/** A replica's name with the swatch that stands for it in charts and in the event list. */
import { replicaOf } from '../model/incarnation.ts';

/** As many as tokens.css has, and as a demo has replicas at most. */
const colours = 9;

export function replicaColor(ids: readonly string[], id: string): string {
  const index = Math.max(0, ids.indexOf(replicaOf(id)));
  return `var(--replica-${(index % colours) + 1})`;
}

interface ReplicaNameProps {
  /** Of a replica, or of one of its incarnations. */
  readonly id: string;
  readonly ids: readonly string[];
}

export function ReplicaName({ id, ids }: ReplicaNameProps) {
  return (
    <>
      <span className="swatch" style={{ background: replicaColor(ids, id) }} aria-hidden="true" />
      <span
        className="mono"
        title={replicaOf(id) === id ? undefined : `${id}: an incarnation of ${replicaOf(id)}`}
      >
        {id}
      </span>
    </>
  );
}
