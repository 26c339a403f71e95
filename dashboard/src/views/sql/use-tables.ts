/**
 * The group's tables for completion: asked of the replica once when the console is looked at, and again after what may have changed them.
 *
 * Asks nothing where a question would be an act that the run keeps, or without `requests`: where statements travel, a question is an operation of the log, and nobody has asked for one.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { SqlResult } from '../../../../server/src/api/sql.ts';
import { changesTables, type SqlTable, tablesIn, tablesQuestion } from '../../model/sql-tables.ts';
import type { RunRequests } from '../../run/requests.ts';

const none: readonly SqlTable[] = [];

export function useTables(
  requests: RunRequests | null,
  replica: string,
  away: boolean,
): readonly [readonly SqlTable[], (result: SqlResult) => void] {
  const [tables, setTables] = useState(none);
  const asked = useRef(0);
  const known = useRef(false);
  const ask = useCallback(async (): Promise<void> => {
    if (requests?.sqlIsFree !== true || replica === '') return;
    known.current = true;
    const turn = (asked.current += 1);
    const outcome = await requests.sql(replica, tablesQuestion);
    // Another question was asked meanwhile.
    if (turn !== asked.current) return;
    // What was known stays; the next replica is asked again.
    if (outcome.ok) setTables(tablesIn(outcome.result));
    else known.current = false;
  }, [requests, replica]);
  useEffect(() => {
    if (!away && !known.current) void ask();
  }, [ask, away]);
  const changed = useCallback(
    (result: SqlResult) => {
      if (changesTables(result)) void ask();
    },
    [ask],
  );
  return [tables, changed];
}
