/** The JSON Schema of a shape, as far as its errors are told from it, and how to find one's way in it. */

/** Where in a document a value is. */
export type Path = readonly PropertyKey[];

export interface JsonShape {
  readonly type?: string;
  /** What the shape says of itself in words, as what it "must be". */
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonShape>>;
  readonly required?: readonly string[];
  readonly propertyNames?: JsonShape;
  /** False where no other keys may be. */
  readonly additionalProperties?: JsonShape | boolean;
  readonly items?: JsonShape;
  readonly oneOf?: readonly JsonShape[];
}

/** The values that alone are allowed; null: it is no such shape. */
export function choicesOf(shape: JsonShape): readonly unknown[] | null {
  return shape.enum ?? (shape.const === undefined ? null : [shape.const]);
}

/** The key by which the kinds of a union are told apart; null: it is none, or has no such key. */
export function kindKey({ oneOf: kinds = [] }: JsonShape): string | null {
  const isKey = (name: string): boolean =>
    kinds.every(({ properties = {} }) => choicesOf(properties[name] ?? {}) !== null);
  return Object.keys(kinds[0]?.properties ?? {}).find(isKey) ?? null;
}

/** All values that the key by which kinds are told apart may have. */
export function kindsOf({ oneOf: kinds = [] }: JsonShape, key: string): readonly unknown[] {
  return kinds.flatMap(({ properties = {} }) => choicesOf(properties[key] ?? {}) ?? []);
}

/** The shape of what is at `path`, for a document as it is: that chooses among kinds. Null: no shape is known there. */
export function shapeAt(root: JsonShape, document: unknown, path: Path): JsonShape | null {
  let shape: JsonShape | null = root;
  let value = document;
  for (const part of path) {
    shape = below(kindOf(shape, value, part), part);
    if (shape === null) return null;
    value = valueBelow(value, part);
  }
  return shape;
}

/** That of a union which the value is. Of its choosing key: what any kind may have there. */
export function kindOf(shape: JsonShape, value: unknown, part?: PropertyKey): JsonShape {
  const key = kindKey(shape);
  if (key === null) return shape;
  if (part === key) return { properties: { [key]: { enum: kindsOf(shape, key) } } };
  const given = valueBelow(value, key);
  return shape.oneOf?.find(({ properties }) => choicesOf(properties?.[key] ?? {})?.includes(given)) ?? shape;
}

function below({ properties, items, additionalProperties }: JsonShape, part: PropertyKey): JsonShape | null {
  if (typeof part === 'number') return items ?? null;
  const other = typeof additionalProperties === 'object' ? additionalProperties : null;
  return properties?.[String(part)] ?? other;
}

export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce(valueBelow, document);
}

function valueBelow(value: unknown, part: PropertyKey): unknown {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, part);
  return isThere ? (value as Readonly<Record<PropertyKey, unknown>>)[part] : undefined;
}

/** As people write it: `peers[1].pgwire.port`. */
export function keyName(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
