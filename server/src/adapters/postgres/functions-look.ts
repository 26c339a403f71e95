/** Looks at the functions of a database's clients. SQL: pgwire/functions-question.ts. */
import type { Client } from 'pg';
import {
  clientFunctions,
  functionsMark,
  functionsSize,
  unnamedTells,
} from '../../pgwire/functions-question.ts';
import type { ClientFunction, FunctionsLook } from '../../ports/client-functions.ts';

/** More are not looked at. */
const functionsMax = 10_000;
const charactersMax = 8_388_608;

/** `known`: the mark of an earlier look. The mark is read first: what is changed behind it shows in the next one. @throws whatever `pg` throws */
export async function lookAtFunctions(client: Client, known: string | null): Promise<FunctionsLook> {
  const [marked] = (await client.query<{ mark: string }>(functionsMark)).rows;
  const { mark } = marked!;
  if (mark === known) return 'same';
  const [size] = (await client.query<{ functions: number; characters: string }>(functionsSize)).rows;
  if (size!.functions > functionsMax || Number(size!.characters) > charactersMax)
    return { mark, functions: null, unnamedTells: true };
  const { rows: functions } = await client.query<ClientFunction>(clientFunctions);
  const [unnamed] = (await client.query<{ tells: boolean }>(unnamedTells)).rows;
  return { mark, functions, unnamedTells: unnamed!.tells };
}
