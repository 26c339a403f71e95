import { expect, it } from 'vitest';
import { pinnedSettings } from '../adapters/postgres/pinned-settings.ts';
import { configOfOne } from '../main/testing/config-of-one.ts';
import { statementSettings } from '../payload/statements/statement-settings.ts';
import { answeringSettings } from './answering-settings.ts';
import { protectedSettings } from './protected-settings.ts';
import { parseReplicaConfig } from './replica-config.ts';

/** What Barista's own sessions bring along, though it changes no answer of a client's. */
const others: readonly string[] = [
  // Set to 0 in each session of a client (run-request.ts).
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
  'transaction_timeout',
  // A rule of its own: all but serializable.
  'default_transaction_isolation',
  // Time, notices, and code that the operator has chosen.
  'wal_sender_timeout',
  'vacuum_cost_delay',
  'commit_delay',
  'post_auth_delay',
  'client_min_messages',
  'ignore_system_indexes',
  'local_preload_libraries',
  'session_preload_libraries',
  'citus.enable_ddl_propagation',
];

it('each setting that is pinned for sessions of ours is decided on for those of clients', () => {
  const known = new Set([
    ...answeringSettings,
    ...others,
    ...protectedSettings,
    ...Object.keys(statementSettings),
  ]);
  const pinned = [15, 18].flatMap((version) => Object.keys(pinnedSettings(version)));
  expect(pinned.filter((name) => !known.has(name))).toEqual([]);
});

it.each(['max_stack_depth', 'TimeZone', 'transform_null_equals', 'array_nulls', 'extra_float_digits'])(
  '%s is no member’s own where statements travel',
  (name) => {
    const given = (payload: string): unknown => ({
      ...configOfOne('/data'),
      payload,
      postgres: { settings: { [name.toLowerCase()]: '1' } },
    });
    expect(parseReplicaConfig(given('wal'), '/').payload).toBe('wal');
    expect(() => parseReplicaConfig(given('statements'), '/')).toThrow(
      `postgres.settings.${name.toLowerCase()}: must not be given with payload: statements`,
    );
  },
);
