/**
 * Texts that PostgreSQL's date and time types read by the clock: now, today, tomorrow, yesterday, alone or beside a time of day.
 */

const words = '(?:now|today|tomorrow|yesterday)';
/** What may stand beside such a word: a time, a zone, a word for one. */
const beside = '(?:[-+:.\\d]+|allballs|zulu|utc|gmt|z|am|pm|[a-z]+/[a-z_]+|[a-z]{1,3}t)';
// The scanner takes any sign as a separator.
const pattern = new RegExp(
  `^[\\s"'\\[({,]*(?:${beside}[\\s,]+)*${words}(?:[\\s,]+${beside})*[\\s"'\\])},]*$`,
  'i',
);

/** For literals whose type is not known: only what has no other sense worth the risk. */
export function isRelativeTime(text: string): boolean {
  return text.length < 256 && pattern.test(text);
}

/** For literals that are dates or times: where a word of the clock stands in them at all. */
export function mentionsClock(text: string): boolean {
  return /(?:now|today|tomorrow|yesterday)/i.test(text);
}
