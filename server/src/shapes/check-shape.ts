/**
 * Holds a document from outside (a configuration, a request) to its shape, and says in plain English what is wrong with it.
 *
 * Responsible for: the words of every error: which key, what was given, what is allowed. All errors are told at once.
 * Invariants: no word of the library that checks is told; the value of a key that is a secret by its name is not told.
 */
import { z } from 'zod';
import { type JsonShape, keyName, type Path, shapeAt, valueAt } from './json-shape.ts';
import { unknownKeyWords } from './unknown-key.ts';
import { allowedWords, valueWords } from './words.ts';

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** `path`: the key that is to blame. `text` names it, too. */
export interface Problem {
  readonly path: Path;
  readonly text: string;
}

/** `whole`: what the document as a whole is called. */
export function checkShape<T>(shape: z.ZodType<T>, document: unknown, whole: string): Checked<T> {
  const result = shape.safeParse(document);
  if (result.success) return { ok: true, value: result.data };
  const root = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as JsonShape;
  const problems = result.error.issues.flatMap((issue) => problemsOf(issue, { root, document, whole }));
  return { ok: false, problems };
}

/** What is wrong with the body of a request, in one text. */
export function requestText(problems: readonly Problem[]): string {
  return `The request is not valid: ${problems.map(({ text }) => text).join('\n')}`;
}

interface Context {
  readonly root: JsonShape;
  readonly document: unknown;
  readonly whole: string;
}

function problemsOf(issue: z.core.$ZodIssue, { root, document, whole }: Context): Problem[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      text: unknownKeyWords(root, document, path, key),
    }));
  }
  const name = keyName(path) || whole;
  if (issue.code === 'custom') return [{ path, text: `${name}: ${issue.message}` }];
  if (issue.code === 'invalid_key') {
    const names = shapeAt(root, document, path.slice(0, -1))?.propertyNames ?? {};
    return [{ path, text: `${name}: the name of this key must be ${allowedWords(names)}` }];
  }
  const shape = shapeAt(root, document, path) ?? {};
  const value = valueAt(document, path);
  const must = `must be ${allowedWords(shape)}`;
  const text =
    value === undefined ? `is missing; it ${must}` : `${must}, and is ${valueWords(value, path, shape)}`;
  return [{ path, text: `${name}: ${text}` }];
}
