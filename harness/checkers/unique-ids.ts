/** Values of sequences: none is handed out twice, to whomever and through whichever replica. Pure. */
import { describeCall, type Verdict } from './anomaly.ts';
import type { Call } from './history.ts';

/** Operation `generate`: answer `[sequence, value]`. Skipped values are no harm. */
export function checkUniqueIds(calls: readonly Call[]): Verdict {
  const first = new Map<string, Call>();
  const anomalies = [];
  for (const call of calls) {
    if (call.f !== 'generate' || call.outcome !== 'ok') continue;
    const [sequence, value] = call.answer as readonly [string, number];
    const id = `${sequence} ${value}`;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, call);
    else
      anomalies.push({
        kind: 'doubled-id',
        summary: `sequence ${sequence} has handed out ${value} twice`,
        detail: [describeCall(earlier), describeCall(call)],
      });
  }
  return { anomalies, gaveUp: null };
}
