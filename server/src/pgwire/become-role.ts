/** Makes a session again what SET ROLE or SET SESSION AUTHORIZATION made of one before it. Pure. */
import { ownSql } from './own-sql.ts';

/** Longer than a name can be. */
const noRole = '?'.repeat(64);

/** By the role's object id, since another one may have got its name. Fails with 22023 where it is gone. */
export function becomeRole(setting: 'role' | 'session_authorization', oid: string): string {
  return ownSql(`SELECT pg_catalog.set_config('${setting}', COALESCE(
    (SELECT r.rolname::pg_catalog.text FROM pg_catalog.pg_roles r WHERE r.oid = '${oid}'::pg_catalog.oid), '${noRole}'), false)`);
}
