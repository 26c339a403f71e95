/**
 * What a place in an event of the layer `lease` is altered to: values that could stand there, so that only what they say gives them away.
 *
 * A time becomes a millisecond later or earlier, a clock a fifth of a lease: it is judged with what clocks may be wrong by. A name becomes that of another replica, a word each other word that could be there.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { stepDownReasons } from '../../conformance/lease/lease-form.ts';
import { byOne, type Change, type Leaves, type Path } from './json-changes.ts';

type Leaf = Omit<Change, 'path'>;

const untilWords = ['always', 'never'];

export function leaseLeaves(events: readonly TraceEvent[], owners: readonly string[]): Leaves {
  const leaseMs = events.find((event) => event.name === 'Restart' && event.layer === 'lease');
  const fifthMs = leaseMs?.layer === 'lease' && leaseMs.name === 'Restart' ? leaseMs.leaseMs / 5 : 0;
  return {
    text: (text, path) => textsFor(text, path, owners),
    number: (value, path) => numbersFor(value, path, fifthMs),
    notNull: owners[0]!,
  };
}

function numbersFor(value: number, path: Path, fifthMs: number): readonly Leaf[] {
  if (path[0] === 'clockMs')
    return [
      { how: 'a fifth of a lease more', value: value + fifthMs },
      { how: 'a fifth of a lease less', value: value - fifthMs },
    ];
  if (path[0] === 'clockDriftMax')
    return [
      { how: 'one hundredth more', value: value + 0.01 },
      { how: 'one hundredth less', value: value - 0.01 },
    ];
  return byOne(value);
}

function textsFor(text: string, path: Path, owners: readonly string[]): readonly Leaf[] {
  const field = path.at(-1);
  const words = field === 'reason' ? stepDownReasons : field === 'untilMs' ? untilWords : null;
  if (words !== null)
    return words.filter((word) => word !== text).map((word) => ({ how: `${word} for ${text}`, value: word }));
  const at = owners.indexOf(text);
  return [{ how: 'another', value: at === -1 ? `${text}x` : owners[(at + 1) % owners.length]! }];
}
