/** What the functions for named transactions answer: one line of ASCII, whatever encoding the client has. Pure. */

/** `none`: no name is set. `named`: it is not taken. `unused`: the transaction has written nothing, so it keeps its name. `claimed`: the name is this transaction's. */
export type RequestRow =
  | { readonly kind: 'none' }
  | { readonly kind: 'named' | 'unused' | 'claimed'; readonly owner: string; readonly name: string };

/** `text`: the kind, the object ids of role and database, and the name in hexadecimal of its UTF-8. @throws Error if it is nothing of the sort */
export function readRequestRow(text: string | null): RequestRow {
  if (text === 'none') return { kind: 'none' };
  const match = /^(named|unused|claimed) (\d{1,10}:\d{1,10}) ([0-9a-f]+)$/.exec(text ?? '');
  if (match === null) throw new Error('a function for named transactions answered what it cannot');
  const [, kind, owner = '', name = ''] = match;
  return {
    kind: kind as 'named' | 'unused' | 'claimed',
    owner,
    name: Buffer.from(name, 'hex').toString('utf8'),
  };
}
