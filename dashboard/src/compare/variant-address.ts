/** Which rule is taken out, in the page's address: `#compare?variant=unchosen`, beside whatever else the address says. Pure. */

const written = /[?&]variant=([^&]*)/;

/** Null: none is named. */
export function variantIn(hash: string): string | null {
  return written.exec(hash)?.[1] ?? null;
}

/** The same address, with that one, or with none. */
export function addressWithVariant(hash: string, variant: string | null): string {
  const [name = '', query = ''] = hash.split('?', 2);
  const rest = query.split('&').filter((part) => part !== '' && !part.startsWith('variant='));
  const all = variant === null ? rest : [...rest, `variant=${variant}`];
  return all.length === 0 ? name : `${name}?${all.join('&')}`;
}
