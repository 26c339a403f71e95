/** The functions that a database's clients have made, as PostgreSQL has them on record. */

export interface ClientFunction {
  readonly name: string;
  readonly language: string;
  /** Empty: its body is not a string. */
  readonly source: string;
  /** Something else than a function uses it (a trigger, a view, a default, an operator ...), so that it may run without being named. */
  readonly isUsed: boolean;
  /** Names of functions that PostgreSQL knows it to call: not those in a body that is a string. */
  readonly calls: readonly string[];
}

export interface ClientFunctions {
  /** Changes when they do, or what uses them. */
  readonly mark: string;
  /** Null: too many, or too long, to be looked at. */
  readonly functions: readonly ClientFunction[] | null;
  /** Something else than a function calls one of PostgreSQL's own that changes what a session has. */
  readonly unnamedTells: boolean;
}

/** `same`: the mark is the one that is known. */
export type FunctionsLook = ClientFunctions | 'same';
