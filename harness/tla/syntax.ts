/**
 * The syntax trees of the part of TLA+ that this evaluator reads.
 *
 * Temporal formulas are read, so that a whole module can be, and evaluated by nobody.
 */
import type { Place } from './tla-error.ts';

export type Infix =
  | '=>'
  | '<=>'
  | '~>'
  | '/\\'
  | '\\/'
  | '='
  | '/='
  | '<'
  | '<='
  | '>'
  | '>='
  | '\\in'
  | '\\notin'
  | '\\subseteq'
  | '\\union'
  | '\\intersect'
  | '\\'
  | '..'
  | '@@'
  | ':>'
  | '+'
  | '-'
  | '*'
  | '%'
  | '\\div'
  | '\\o'
  | '\\X';

export type Prefix = '~' | '-' | 'SUBSET' | 'UNION' | 'DOMAIN' | 'UNCHANGED' | 'ENABLED' | '[]' | '<>';

/** `names`: more than one are the parts of a tuple. */
export interface Bound {
  readonly names: readonly string[];
  readonly isTuple: boolean;
  readonly set: Expression;
}

/** One change of an EXCEPT: the path to what changes, and what it becomes. */
export interface Change {
  readonly path: readonly Expression[];
  readonly value: Expression;
}

export interface Definition {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: Expression;
  readonly place: Place;
}

interface Field {
  readonly name: string;
  readonly value: Expression;
}

type Node =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'apply'; readonly name: string; readonly operands: readonly Expression[] }
  | { readonly kind: 'ofInstance'; readonly instance: string; readonly name: string }
  | { readonly kind: 'current' }
  | { readonly kind: 'prefix'; readonly operator: Prefix; readonly operand: Expression }
  | {
      readonly kind: 'infix';
      readonly operator: Infix;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'list'; readonly operator: '/\\' | '\\/'; readonly items: readonly Expression[] }
  | { readonly kind: 'primed'; readonly operand: Expression }
  | { readonly kind: 'field'; readonly operand: Expression; readonly name: string }
  | { readonly kind: 'at'; readonly operand: Expression; readonly argument: Expression }
  | {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly thenValue: Expression;
      readonly otherwise: Expression;
    }
  | {
      readonly kind: 'case';
      readonly arms: readonly { readonly condition: Expression; readonly value: Expression }[];
      readonly otherwise: Expression | null;
    }
  | { readonly kind: 'let'; readonly definitions: readonly Definition[]; readonly body: Expression }
  | {
      readonly kind: 'quantified';
      readonly quantifier: '\\A' | '\\E';
      readonly bounds: readonly Bound[];
      readonly body: Expression;
    }
  | { readonly kind: 'choose'; readonly bound: Bound; readonly body: Expression }
  | { readonly kind: 'set'; readonly items: readonly Expression[] }
  | { readonly kind: 'filter'; readonly bound: Bound; readonly body: Expression }
  | { readonly kind: 'map'; readonly body: Expression; readonly bounds: readonly Bound[] }
  | { readonly kind: 'tuple'; readonly items: readonly Expression[] }
  | { readonly kind: 'record'; readonly fields: readonly Field[] }
  | { readonly kind: 'records'; readonly fields: readonly Field[] }
  | { readonly kind: 'function'; readonly bounds: readonly Bound[]; readonly body: Expression }
  | { readonly kind: 'functions'; readonly domain: Expression; readonly range: Expression }
  | { readonly kind: 'except'; readonly operand: Expression; readonly changes: readonly Change[] }
  /** `[A]_v`, WF_v(A), SF_v(A). */
  | { readonly kind: 'temporal'; readonly operator: 'box' | 'WF' | 'SF'; readonly action: Expression };

export type Expression = Node & { readonly place: Place };

export interface Instance {
  readonly name: string;
  readonly module: string;
}

export interface Module {
  readonly name: string;
  readonly extended: readonly string[];
  readonly constants: readonly string[];
  readonly variables: readonly string[];
  readonly definitions: readonly Definition[];
  readonly instances: readonly Instance[];
  readonly assumptions: readonly Expression[];
}
