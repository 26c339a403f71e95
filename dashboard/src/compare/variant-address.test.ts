/** A rule that is taken out has an address, beside a run's and without one. */
import { describe, expect, it } from 'vitest';
import { addressWithVariant, variantIn } from './variant-address.ts';

describe('the address of a variant', () => {
  it.each([
    ['#compare', '#compare?variant=unchosen'],
    ['#compare?variant=wiped', '#compare?variant=unchosen'],
    ['#sim?seed=7&view=compare', '#sim?seed=7&view=compare&variant=unchosen'],
    ['#sim?seed=7&variant=wiped&view=compare', '#sim?seed=7&view=compare&variant=unchosen'],
  ])('is read as it was written: %s', (hash, withOne) => {
    expect(addressWithVariant(hash, 'unchosen')).toBe(withOne);
    expect(variantIn(withOne)).toBe('unchosen');
  });

  it('is let go of', () => {
    expect(addressWithVariant('#compare?variant=wiped', null)).toBe('#compare');
    expect(variantIn('#compare')).toBeNull();
  });
});
