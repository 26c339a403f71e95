/**
 * What the rewriting of statements takes and gives: the words that the gateway, the executor and the rules share.
 *
 * A text is rewritten once, where a client hands it in, before it is agreed on; so the rewriting itself need not be alike at all replicas, only what it lets through.
 */
import type { Edit } from './edits.ts';

/** What a text means depends on these. */
export interface RewriteContext {
  /** As PostgreSQL's parameter `client_encoding` names it. */
  readonly clientEncoding: string;
  /** PostgreSQL's parameter `standard_conforming_strings`. */
  readonly standardConformingStrings: boolean;
  /** Names of functions outside pg_catalog in this database, as far as they are known: a call without a schema that may mean one of them is refused if it would be rewritten. */
  readonly userFunctions?: ReadonlySet<string>;
  /** The types (OIDs) of a prepared statement's parameters, if PostgreSQL told them. */
  readonly parameterTypes?: (statement: string) => readonly number[] | undefined;
}

/** `read`: a SELECT, VALUES, TABLE or SHOW that writes nothing that the text shows (a function that it calls may). */
export type StatementClass = 'begin' | 'commit' | 'rollback' | 'savepoint' | 'read' | 'other';

/** A SET or RESET of `barista.acknowledge`; null: of whatever the session began with. `isAll`: of all settings. */
export interface AcknowledgeChange {
  readonly value: string | null;
  readonly isAll: boolean;
}

export interface StatementFacts {
  readonly class: StatementClass;
  /** Says what a client is told on success: SELECT, CREATE TABLE, ... for traces. */
  readonly name: string;
  /** PostgreSQL runs it within a transaction block (VACUUM, CREATE DATABASE and such are not). */
  readonly inBlock: boolean;
  /**
   * How the answers of replicas compare. `rows`: the same rows, in any order, as ties and plans may differ. `none`: what it tells differs between replicas that are the same
   * (their times, their paths, which of the rows a LIMIT without ORDER BY takes).
   */
  readonly compare: 'rows' | 'none';
  readonly acknowledge?: AcknowledgeChange;
  /** The temporary table or view that it makes. */
  readonly makesTemporary?: string;
  /** The table, without a schema, that gets a trigger. */
  readonly triggersOn?: string;
}

export interface Refusal {
  readonly kind: 'refused';
  readonly sqlstate: string;
  readonly message: string;
  readonly hint?: string;
  /** As in an ErrorResponse: characters from 1 in the client's text. */
  readonly position?: number;
  /** The row of docs/statements-determinism.md. */
  readonly rule: string;
}

export interface RewrittenQuery {
  readonly kind: 'rewritten';
  /** The same string if nothing was to be changed. */
  readonly sql: string;
  /** One for each statement of the text; none for an empty text. */
  readonly statements: readonly StatementFacts[];
  /** In characters of the client's text, by place: `originalPosition` maps an error's position back. */
  readonly edits: readonly Edit[];
}

export type QueryRewriting = RewrittenQuery | Refusal;
