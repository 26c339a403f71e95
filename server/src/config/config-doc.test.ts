/** docs/configuration.md against the schema: its example is valid, its table has every key with its true default, and no other. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { replicaConfigSchema } from './config-schema.ts';
import { parseReplicaConfig } from './replica-config.ts';

const text = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
const example: unknown = parse(/```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '');

/** Key and default of each row of the table. */
const documented = new Map(
  [...text.matchAll(/^\| `([^`]+)` \|([^|]*)\|/gm)].map((row) => [row[1] ?? '', (row[2] ?? '').trim()]),
);

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly default?: unknown;
}

/** Every key that the schema knows, as the table writes it, with its default. */
function keysOf(schema: JsonSchema, path = ''): [string, unknown][] {
  // What one kind of a thing has and another has not is in the table all the same.
  const kinds = new Map(schema.oneOf?.flatMap((kind) => keysOf(kind, path)));
  const keys: [string, unknown][] = [...kinds];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const key = path === '' ? name : `${path}.${name}`;
    keys.push([key, inner.default], ...keysOf(inner, key));
    if (inner.items !== undefined) keys.push(...keysOf(inner.items, `${key}[]`));
  }
  return keys;
}

const schema = z.toJSONSchema(replicaConfigSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
const keys = keysOf(schema);

describe('docs/configuration.md', () => {
  test('its example is accepted', () => {
    const inline = {
      ...(example as object),
      clusterSecretFile: undefined,
      clusterSecret: '0123456789abcdef',
    };
    expect(parseReplicaConfig(inline, '/')).toMatchObject({ id: 'r1' });
  });

  test('its table has every key of the schema, and no other', () => {
    expect(keys.length).toBeGreaterThan(40);
    expect([...documented.keys()].toSorted()).toEqual(keys.map(([key]) => key).toSorted());
  });

  test.each(keys.filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)))(
    'the default of %s is %s',
    (key, value) => {
      expect(documented.get(key)?.replaceAll('`', '')).toBe(String(value));
    },
  );
});
