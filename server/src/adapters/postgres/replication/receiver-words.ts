/**
 * Why PostgreSQL's walreceiver has left the feed, in its own words: the connection only ends.
 *
 * Responsible for: the newest error of PostgreSQL's own processes that names something of the system, such as a full disk, from what PostgreSQL writes to its log. Sessions are not looked at.
 */
import { ownLine } from '../start-failure.ts';

/** That the connection has ended, or was to: the feed knows that better. */
const ofConnections = /^(?:08|57)/;
const lineBytesMax = 4_096;

export class ReceiverWords {
  private rest = '';
  private newest: string | null = null;

  /** A piece of PostgreSQL's log. */
  add(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = (lines.pop() ?? '').slice(0, lineBytesMax);
    for (const line of lines) {
      const [, , sqlState = '', level = '', message = ''] = ownLine.exec(line) ?? [];
      if (level === 'FATAL' && !ofConnections.test(sqlState)) this.newest = message;
    }
  }

  /** Null: nothing was said since the last time. */
  take(): string | null {
    const { newest } = this;
    this.newest = null;
    return newest;
  }
}
