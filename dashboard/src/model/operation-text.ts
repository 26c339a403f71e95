/** Operations of clients' sessions in words, where statements travel. Pure. */
import type { OperationContent, OperationWord, ShownSession } from '../../../server/src/api/wal-summary.ts';

const words: Readonly<Record<OperationWord, string>> = {
  open: 'Opens',
  begin: 'Begins a transaction in',
  execute: 'Executes a request of',
  commit: 'Commits in',
  rollback: 'Rolls back in',
  close: 'Closes',
  closeAll: 'Closes what an earlier life of its replica has left of',
  cancelOpen: 'Ends the open transaction of',
  pause: 'Holds back what would begin a transaction in',
  resume: 'Ends the pause of',
  hold: 'Agrees on a request that may have no end in',
  goOn: 'Goes on in',
  adopt: 'Has one database go on, where all differ, for',
};

/** Such as `session 3f09ac of a client at r2`. */
export function spellSession(session: ShownSession | null): string {
  if (session === null) return 'every session';
  return `session ${session.name}${session.at === null ? '' : ` of a client at ${session.at}`}`;
}

/** Such as `Commits in session 3f09ac of a client at r2`. */
export function describeOperation(what: OperationWord, session: ShownSession | null): string {
  return `${words[what]} ${spellSession(session)}`;
}

/** What else there is to say of it, in one line: by whom, which request, when it is answered. */
export function describeCircumstances({
  proposer,
  request,
  level,
  user,
  database,
}: OperationContent): string {
  const parts = [
    user === null || database === null ? null : `${user} in ${database}`,
    request === null ? null : `request ${request} of the session`,
    `proposed by ${proposer}`,
    level === null ? null : `answered at ${level}`,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}
