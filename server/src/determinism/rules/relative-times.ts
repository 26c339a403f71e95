/**
 * Texts that PostgreSQL's date and time types read by the clock: now, today, tomorrow, yesterday, alone or beside a time of day.
 */

/** Types whose texts are read so. */
export const clockTypes: ReadonlySet<string> = new Set(
  'date time timetz timestamp timestamptz daterange tsrange tstzrange datemultirange tsmultirange tstzmultirange'.split(
    ' ',
  ),
);

const words = '(?:now|today|tomorrow|yesterday)';
/** What may stand beside such a word: a time, a zone, a word for one. */
const beside = /^(?:[-+:.\d]+|allballs|zulu|utc|z|am|pm|[a-z]+\/[a-z_]+|[a-z]{1,3}t)$/i;
const clock = new RegExp(`^${words}$`, 'i');

/** A word of the clock, and nothing but such words beside it. The scanner takes any sign as a separator. */
function isClockAmongTimes(text: string): boolean {
  const bare = text.replace(/^[\s"'[({,]+/, '');
  let end = bare.length;
  while (end > 0 && /[\s"'\])},]/.test(bare[end - 1]!)) end -= 1;
  const parts = bare.slice(0, end).split(/[\s,]+/);
  return (
    parts.filter((part) => clock.test(part)).length === 1 &&
    parts.every((part) => clock.test(part) || beside.test(part))
  );
}

/** A range, or several, whose bounds are times. */
const bound = `(?:[-+:."\\dtz\\s]|infinity|${words})*`;
const range = new RegExp(`^[\\s"{]*[[(]${bound},${bound}[\\])][\\s"}]*$`, 'i');
/** One of several values: the bound of a range, a field of a row, an element. */
const oneOfSeveral = new RegExp(`^[\\s"]*[[({](?:.*[[({,])?[\\s"]*${words}[\\s"]*[\\])},]`, 'is');

/** A value of hstore. */
const ofKey = new RegExp(`=>[\\s"]{0,9}${words}[\\s"]{0,9}(?:,|$)`, 'i');

/** For literals whose type is not known: only what has no other sense worth the risk. */
export function isRelativeTime(text: string): boolean {
  return text.length < 256 && (isClockAmongTimes(text) || (mentionsClock(text) && range.test(text)));
}

/** For literals of a type that may have times in it. */
export function holdsRelativeTime(text: string): boolean {
  return isRelativeTime(text) || (text.length < 1024 && (oneOfSeveral.test(text) || ofKey.test(text)));
}

/** For literals that are dates or times: where a word of the clock stands in them at all. */
export function mentionsClock(text: string): boolean {
  return /(?:now|today|tomorrow|yesterday)/i.test(text);
}
