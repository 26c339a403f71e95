/**
 * Counts the waits of commits that PostgreSQL has ended before they were chosen, from what it writes to its log.
 *
 * PostgreSQL lets a COMMIT wait for its synchronous standby, and only then shows the transaction to others. When it ends such a wait early it first says so in its log (syncrep.c: a cancel, a termination), or it has said before
 * that all waits are about to end (a shutdown). Sessions of clients cannot keep it from saying it: the settings for that are the superuser's.
 * Invariant: a message is counted no later than its line is complete; what cannot be understood counts for nothing else than itself.
 */

/** The texts of PostgreSQL 15 to 18, without translation (lc_messages is C). Each lies within one line. */
const ends =
  /cancell?ing (?:the )?wait for synchronous replication|received (?:smart|fast|immediate) shutdown request|aborting any active transactions|terminating any other active server processes/;
const lineBytesMax = 4_096;

export class EndedWaits {
  private rest = '';
  private found = 0;

  get count(): number {
    return this.found;
  }

  add(text: string): void {
    const lineEnd = text.lastIndexOf('\n');
    if (lineEnd < 0) {
      this.rest = (this.rest + text).slice(-lineBytesMax);
      return;
    }
    const lines = this.rest + text.slice(0, lineEnd);
    this.rest = text.slice(lineEnd + 1).slice(-lineBytesMax);
    // Clients can have very many lines written: they are told apart only where there is something to count.
    if (!ends.test(lines)) return;
    for (const line of lines.split('\n')) if (ends.test(line)) this.found += 1;
  }
}
