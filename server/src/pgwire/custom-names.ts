/** Settings of a client's own, with a dot in their names, which PostgreSQL does not list: found in texts. Pure. */

const named =
  /\bset[ \t\n\r\f\v]+(?:session[ \t\n\r\f\v]+)?"?([a-z_\x80-\xff][\w$\x80-\xff]*"?(?:[ \t\n\r\f\v]*\.[ \t\n\r\f\v]*"?[\w$\x80-\xff]+"?)+)|'([a-z_\x80-\xff][\w$\x80-\xff]*(?:\.[\w$\x80-\xff]+)+)'/gi;

/** `text`, and the names: latin1, byte for byte. In small letters, of which PostgreSQL knows those of ASCII here. */
export function customNamesIn(text: string): readonly string[] {
  return [...text.matchAll(named)].map(([, one, other]) =>
    lowered(one?.replaceAll(/[" \t\n\r\f\v]/g, '') ?? other ?? ''),
  );
}

const lowered = (name: string): string => name.replaceAll(/[A-Z]+/g, (some) => some.toLowerCase());
