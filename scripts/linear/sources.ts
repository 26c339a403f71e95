/** The server's modules as trees of syntax: the regular expressions in them, and what they export that takes text. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

const serverRoot = fileURLToPath(new URL('../../server/src/', import.meta.url));

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface SourceFile {
  /** Below `server/src`. */
  readonly name: string;
  readonly text: string;
  readonly body: readonly SyntaxNode[];
}

/** Without tests and what is for tests. */
export function serverSources(folder = ''): SourceFile[] {
  return readdirSync(join(serverRoot, folder)).flatMap((entry) => {
    const name = folder === '' ? entry : `${folder}/${entry}`;
    if (entry === 'testing' || entry.endsWith('.test.ts')) return [];
    if (statSync(join(serverRoot, name)).isDirectory()) return serverSources(name);
    if (!entry.endsWith('.ts')) return [];
    const text = readFileSync(join(serverRoot, name), 'utf8');
    const { program } = parseSync(name, text, { lang: 'ts' });
    return [{ name, text, body: program.body as unknown as SyntaxNode[] }];
  });
}

export interface FoundExpressions {
  readonly literals: readonly RegExp[];
  /** `new RegExp(...)`, whose source is known when the module is loaded. */
  readonly made: number;
}

export function expressionsIn({ body }: SourceFile): FoundExpressions {
  const literals: RegExp[] = [];
  let made = 0;
  visit(body, (node) => {
    const { regex, callee } = node as SyntaxNode & {
      readonly regex?: { readonly pattern: string; readonly flags: string };
      readonly callee?: { readonly name?: string };
    };
    if (regex !== undefined) literals.push(new RegExp(regex.pattern, regex.flags));
    if (callee?.name === 'RegExp') made += 1;
  });
  return { literals, made };
}

function visit(value: unknown, see: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, see);
  else if (typeof value === 'object' && value !== null) {
    if (typeof (value as SyntaxNode).type === 'string') see(value as SyntaxNode);
    for (const each of Object.values(value)) visit(each, see);
  }
}

/** Exported functions, and classes with public methods, that take a string or bytes. */
export function textTakers({ body, text }: SourceFile): string[] {
  const takes = (parameters: unknown): boolean =>
    (parameters as readonly SyntaxNode[]).some(({ start, end }) =>
      /:.*\b(?:string|Buffer|Uint8Array)\b/s.test(text.slice(start, end)),
    );
  return body.flatMap((statement) => {
    const { declaration } = statement as SyntaxNode & { readonly declaration?: SyntaxNode | null };
    if (statement.type !== 'ExportNamedDeclaration' || declaration == null) return [];
    const nameOf = (node: unknown): string => (node as { id: { name: string } }).id.name;
    if (declaration.type === 'FunctionDeclaration')
      return takes(declaration.params) ? [nameOf(declaration)] : [];
    if (declaration.type === 'ClassDeclaration') {
      const { body: members } = declaration.body as { body: readonly SyntaxNode[] };
      const isTaking = members.some(
        (member) =>
          member.type === 'MethodDefinition' &&
          member.accessibility !== 'private' &&
          takes((member.value as SyntaxNode).params),
      );
      return isTaking ? [nameOf(declaration)] : [];
    }
    const declared = (declaration.declarations ?? []) as readonly SyntaxNode[];
    return declared.flatMap((each) => {
      const init = each.init as SyntaxNode | null;
      return init?.type === 'ArrowFunctionExpression' && takes(init.params) ? [nameOf(each)] : [];
    });
  });
}
