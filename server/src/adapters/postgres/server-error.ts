/** An ErrorResponse of PostgreSQL as an Error with the fields that `pg` gives it, so that both are sorted alike. */

/** `pg`'s names of the fields that are used here. */
const names: Readonly<Record<string, string>> = {
  S: 'severity',
  C: 'code',
  D: 'detail',
  F: 'file',
  R: 'routine',
};

export function sqlStateError(body: Buffer): Error {
  const fields: Record<string, string> = {};
  let message = 'PostgreSQL reported an error';
  for (const field of body.toString('utf8').split('\0')) {
    const letter = field[0];
    if (letter === undefined) continue;
    if (letter === 'M') message = field.slice(1);
    const name = names[letter];
    if (name !== undefined) fields[name] = field.slice(1);
  }
  return Object.assign(new Error(message), fields);
}
