/** A rule in the text of a specification, by the name of its definition. Pure. */

export interface SpecRule {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** Null: nothing of that name is defined there. `text`: its first line. */
export function findRule(spec: string, definition: string): SpecRule | null {
  const lines = spec.split('\n');
  const index = lines.findIndex(
    (line) => line.startsWith(definition) && /^(?:\([^)]*\))?\s*==/.test(line.slice(definition.length)),
  );
  return index === -1 ? null : { line: index + 1, text: lines[index]!.trimEnd() };
}
