/** What a comparison of digests comes to: who has what the majority has, and where the others differ. Pure. */
import type { VerifyResult } from '../../api/status.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import type { DataDigest } from '../../ports/control.ts';

type Objects = DataDigest['objects'];

export interface Reported {
  readonly replica: ReplicaId;
  /** Null: no digest; `reason` says why. */
  readonly objects: Objects | null;
  readonly reason: string;
  /** It knows of itself that it differs, and has stopped applying: there is nothing to digest as of this slot. */
  readonly fenced: boolean;
}

const detailMax = 50;

/**
 * A replica differs if a majority of the voters agrees on something else: learners have copies of voters' databases, and would count those twice. So does one that is
 * fenced, if there is such a majority. Where there is none, all that have reported are said to differ, each in what it has that another has not; none of them is more
 * right than the others.
 */
export function judge(slot: Slot, reports: readonly Reported[], voters: readonly ReplicaId[]): VerifyResult {
  const groups = new Map<string, Reported[]>();
  for (const report of reports) {
    if (report.objects === null) continue;
    const key = keyOf(report.objects);
    groups.set(key, [...(groups.get(key) ?? []), report]);
  }
  const sorted = [...groups.values()].toSorted((a, b) => b.length - a.length);
  const votesOf = (group: Reported[]): number =>
    group.filter(({ replica }) => voters.includes(replica)).length;
  const right = sorted.find((group) => votesOf(group) > voters.length / 2)?.[0]!.objects ?? null;
  const rightKey = right === null ? null : keyOf(right);
  const replicas = reports.map(({ replica, objects, reason, fenced }): VerifyResult['replicas'][number] => {
    if (objects === null)
      return { replica, outcome: fenced && right !== null ? 'differs' : 'noReport', detail: [reason] };
    if (rightKey !== null && keyOf(objects) === rightKey) return { replica, outcome: 'equal', detail: [] };
    if (right !== null) return { replica, outcome: 'differs', detail: differences(objects, right) };
    if (sorted.length === 1) {
      return { replica, outcome: 'noReport', detail: ['no majority of the voters has reported'] };
    }
    const other = sorted.find(([first]) => keyOf(first!.objects!) !== keyOf(objects))?.[0]?.objects ?? [];
    return { replica, outcome: 'differs', detail: ['no majority agrees', ...differences(objects, other)] };
  });
  return { slot, replicas };
}

function nameOf({ kind, name }: Objects[number]): string {
  return `${kind} ${name}`;
}

function keyOf(objects: Objects): string {
  const lines = objects.map((object) => `${nameOf(object)}\t${object.rows}\t${object.digest}`);
  return lines.toSorted().join('\n');
}

/** Names of the objects that are not the same in both. */
function differences(objects: Objects, others: Objects): string[] {
  const here = new Map(objects.map((object) => [nameOf(object), object]));
  const there = new Map(others.map((object) => [nameOf(object), object]));
  const names = [...new Set([...here.keys(), ...there.keys()])].toSorted();
  const wrong = names.flatMap((name) => {
    const a = here.get(name);
    const b = there.get(name);
    if (a === undefined) return [`${name} is missing`];
    if (b === undefined) return [`${name} is not in the others`];
    if (a.rows !== b.rows) return [`${name} (${a.rows} rows, not ${b.rows})`];
    return a.digest === b.digest ? [] : [name];
  });
  return wrong.length > detailMax
    ? [...wrong.slice(0, detailMax), `and ${wrong.length - detailMax} more`]
    : wrong;
}
