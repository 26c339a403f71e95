/**
 * The verdict on one layer of a recorded trace, where the steps of each run are given to a judge: what the layers `apply` and `lease` have in common.
 *
 * Responsible for: the types, and for reading what the judge printed. Pure.
 */

export interface LayerAccepted {
  readonly kind: 'accepted';
  readonly events: number;
  /** How often each event occurs. */
  readonly actions: ReadonlyMap<string, number>;
}

export interface LayerRejected<Layer extends string, Event> {
  readonly kind: 'rejected';
  readonly layer: Layer;
  /** Counts from 1 in the order in which the events were checked; 0: the trace contradicts itself, before any was. */
  readonly event: number;
  /** Null: the step that could not be taken belongs to no event. */
  readonly recorded: Event | null;
  /** The step that could not be taken, or what is contradicted. */
  readonly literal: string;
}

export type LayerOutcome<Layer extends string, Event> = LayerAccepted | LayerRejected<Layer, Event>;

/** Of each run the step that could not be taken, from 1; one more than there are if all could. @throws Error if nothing was printed of a run: there is no verdict on it */
export function reachedSteps(output: string, runs: number): readonly number[] {
  const reached = Array.from({ length: runs }, () => 0);
  for (const [, run, step] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g))
    reached[Number(run) - 1] = Math.max(reached[Number(run) - 1] ?? 0, Number(step));
  if (reached.includes(0)) throw new Error('the judge says nothing of one of the runs');
  return reached;
}

export function accepted(names: readonly string[]): LayerAccepted {
  const actions = new Map<string, number>();
  for (const name of names) actions.set(name, (actions.get(name) ?? 0) + 1);
  return { kind: 'accepted', events: names.length, actions };
}
