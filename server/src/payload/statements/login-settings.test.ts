import { expect, it } from 'vitest';
import { loginAsBefore } from './login-settings.ts';

const login = { user: 'app', database: 'app', parameters: [] as const };
const long = 'schema_of_a_tenant, '.repeat(600);

function having(settings: Readonly<Record<string, string>>) {
  const rows = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const ofServer = [{ name: 'work_mem', value: '4MB' }];
  return {
    query: <R>(sql: string): Promise<readonly R[]> =>
      Promise.resolve((sql.includes('pg_db_role_setting') ? rows : ofServer) as unknown as readonly R[]),
  };
}

it('only what has changed since is given with the log-in', async () => {
  const now = having({ search_path: long, work_mem: '5MB' });
  expect(await loginAsBefore(login, [['search_path', long]], now)).toEqual({
    ...login,
    parameters: [['options', '-c work_mem=4MB']],
  });
  const before = [
    ['search_path', long],
    ['work_mem', '6MB'],
  ] as const;
  expect(await loginAsBefore(login, before, now)).toEqual({
    ...login,
    parameters: [['options', '-c work_mem=6MB']],
  });
});
