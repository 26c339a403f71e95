/**
 * Ways in which a client's code could come to run as a superuser, on any replica. What only a superuser can do leaves a file; there must be none.
 *
 * The first was possible while row effects travelled: the query of a cursor WITH HOLD runs at COMMIT, and the applier's COMMIT was the superuser's.
 */
import { inOneSession, type Scenario } from './scenario.ts';

/** Tries to leave the file `marker`, and goes on whatever comes of it. `marker`: an absolute path without quotes; every replica on this machine could write it. */
function functionThatTries(schema: string, marker: string): string {
  return `CREATE FUNCTION ${schema}.try_it() RETURNS int LANGUAGE plpgsql AS $f$
    BEGIN
      EXECUTE $q$COPY (SELECT current_user) TO PROGRAM 'cat >> ${marker}'$q$;
      RETURN 1;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN RETURN 0;
    END $f$`;
}

export function escalations(marker: string): readonly Scenario[] {
  return [
    {
      name: 'cursor_in_a_check',
      what: 'a CHECK whose function declares a cursor WITH HOLD over COPY TO PROGRAM, but only where a superuser runs it',
      steps: inOneSession(
        functionThatTries('cursor_in_a_check', marker),
        `CREATE FUNCTION cursor_in_a_check.hold(int) RETURNS boolean LANGUAGE plpgsql AS $f$
           BEGIN
             IF (SELECT bool_or(rolsuper) FROM pg_roles WHERE rolname IN (current_user, session_user)) THEN
               EXECUTE format('DECLARE %I CURSOR WITH HOLD FOR SELECT cursor_in_a_check.try_it()', 'c' || $1 || clock_timestamp());
             END IF;
             RETURN true;
           END $f$`,
        'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1), (2)',
        'ALTER TABLE t ADD CHECK (cursor_in_a_check.hold(n))',
        'ALTER TABLE t ADD COLUMN other int DEFAULT 5 CHECK (cursor_in_a_check.hold(other))',
        'CREATE DOMAIN d AS int; CREATE TABLE of_d (d d); INSERT INTO of_d VALUES (1)',
        'ALTER DOMAIN d ADD CHECK (cursor_in_a_check.hold(VALUE))',
        'INSERT INTO of_d VALUES (2)',
        'UPDATE t SET n = n + 10',
      ),
      shows: [{ query: 'SELECT n FROM t ORDER BY n', rows: [['11'], ['12']] }],
    },
    {
      name: 'code_wherever_it_may_stand',
      what: 'the same in defaults, generated columns, indexes, policies, triggers, rules, casts, domains and statistics',
      steps: inOneSession(
        functionThatTries('code_wherever_it_may_stand', marker),
        'CREATE FUNCTION sly(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN PERFORM code_wherever_it_may_stand.try_it(); RETURN $1; END $f$',
        'CREATE DOMAIN d AS int CHECK (code_wherever_it_may_stand.sly(VALUE) > 0)',
        `CREATE TABLE t (n d DEFAULT code_wherever_it_may_stand.sly(1), g int GENERATED ALWAYS AS (code_wherever_it_may_stand.sly(1)) STORED,
           CHECK (code_wherever_it_may_stand.try_it() >= 0))`,
        'CREATE INDEX ON t (code_wherever_it_may_stand.sly(n)); CREATE STATISTICS st ON (code_wherever_it_may_stand.sly(n)), g FROM t',
        'ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY',
        'CREATE POLICY p ON t USING (code_wherever_it_may_stand.try_it() >= 0) WITH CHECK (code_wherever_it_may_stand.try_it() >= 0)',
        'CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN PERFORM code_wherever_it_may_stand.try_it(); RETURN NEW; END $f$',
        'CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION code_wherever_it_may_stand.tr()',
        'ALTER TABLE t ENABLE ALWAYS TRIGGER late',
        'INSERT INTO t SELECT n FROM generate_series(1, 300) n; UPDATE t SET n = n + 1',
        'VACUUM (ANALYZE) t',
        'REINDEX TABLE t; CLUSTER t USING t_sly_idx; ANALYZE t',
        'CREATE MATERIALIZED VIEW m AS SELECT code_wherever_it_may_stand.sly(n) FROM t; REFRESH MATERIALIZED VIEW m',
      ),
      shows: [{ query: 'SELECT count(*) FROM m', rows: [['300']] }],
    },
  ];
}
