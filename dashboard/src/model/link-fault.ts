/** What it takes for one direction of a link to be like the other. Pure. */
import type { FaultRequest, LinkFault } from '../../../server/src/api/status.ts';

export type Parts = Pick<LinkFault, 'cut' | 'delayMs' | 'drop' | 'duplicate'>;
interface Ends {
  readonly from: string;
  readonly to: string;
}
type LinkRequest = Extract<FaultRequest, { readonly from: unknown }>;

const whole: Parts = { cut: false, delayMs: 0, drop: 0, duplicate: 0 };

/** Requests that give the link `to` what `fault` is, where it has something else; null: nothing is wrong there. */
export function mirrored(fault: Parts | null, has: Parts | null, to: Ends): readonly LinkRequest[] {
  const wanted = amountsOf(fault ?? whole);
  const present = amountsOf(has ?? whole);
  return wanted.flatMap(([action, amount], index) =>
    amount === present[index]![1] ? [] : [{ action, ...to, amount } as LinkRequest],
  );
}

const named = { cut: 'cut', delay: 'delayMs', drop: 'drop', duplicate: 'duplicate' } as const;

/** The link once such a request is carried out. */
export function withAmount(fault: Parts | null, action: keyof typeof named, amount: number): Parts {
  return { ...whole, ...fault, [named[action]]: action === 'cut' ? amount > 0 : amount };
}

export function sameFault(one: Parts | null, other: Parts | null): boolean {
  const amounts = amountsOf(other ?? whole);
  return amountsOf(one ?? whole).every(([, amount], index) => amount === amounts[index]![1]);
}

function amountsOf({ cut, delayMs, drop, duplicate }: Parts) {
  return [
    ['cut', cut ? 1 : 0],
    ['delay', delayMs],
    ['drop', drop],
    ['duplicate', duplicate],
  ] as const;
}
