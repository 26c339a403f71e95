/** What the functions for named transactions answer: one line of ASCII, whatever encoding the client has. Pure. */

/** `none`: no name is set. `named`: it is not taken. `unused`: the transaction has written nothing, so it keeps its name. `claimed`: the name is this transaction's. */
export type RequestRow =
  | { readonly kind: 'none' }
  | { readonly kind: 'named' | 'unused' | 'claimed'; readonly role: string; readonly name: string };

/** `text`: the kind, and role and name in hexadecimal of their UTF-8. @throws Error if it is nothing of the sort */
export function readRequestRow(text: string | null): RequestRow {
  if (text === 'none') return { kind: 'none' };
  const match = /^(named|unused|claimed) ([0-9a-f]+) ([0-9a-f]+)$/.exec(text ?? '');
  if (match === null) throw new Error('a function for named transactions answered what it cannot');
  const [, kind, role = '', name = ''] = match;
  return {
    kind: kind as 'named' | 'unused' | 'claimed',
    role: Buffer.from(role, 'hex').toString('utf8'),
    name: Buffer.from(name, 'hex').toString('utf8'),
  };
}
