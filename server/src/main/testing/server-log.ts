/** What a replica's PostgreSQL says in its log of the sessions of the superuser: the statements that were sent, and the warnings of what they ran. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** For `postgres.settings`: PostgreSQL itself is the recorder. */
export const recordingSettings = { log_statement: 'all', log_replication_commands: 'on' };

export interface LoggedMessage {
  readonly user: string;
  readonly database: string;
  readonly severity: string;
  readonly text: string;
}

const begin = /^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] \w{5} ([^@\n]*)@(\S*) (\w+): {2}/;

/** Of a replica's directory, in order. */
export function loggedMessages(dataDir: string): readonly LoggedMessage[] {
  const path = join(dataDir, 'postgres', 'postgres.log');
  const text = [`${path}.1`, path].map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''));
  const messages: { user: string; database: string; severity: string; text: string }[] = [];
  let isMessage = false;
  for (const line of text.join('').split('\n')) {
    const match = begin.exec(line);
    if (match !== null) {
      const [head, user = '', database = '', severity = ''] = match;
      messages.push({ user, database, severity, text: line.slice(head.length) });
      isMessage = true;
    } else if (isMessage && line.startsWith('\t')) messages.at(-1)!.text += `\n${line.slice(1)}`;
    else isMessage = false;
  }
  return messages;
}

const statement = /^(?:statement|execute [^:]*): ([\s\S]*)$/;

export const isStatement = (text: string): boolean => statement.test(text);

/** Each once. */
export function statementsIn(messages: readonly LoggedMessage[]): readonly string[] {
  const texts = messages.map(({ text }) => statement.exec(text)?.[1]).filter((text) => text !== undefined);
  return [...new Set(texts)];
}
