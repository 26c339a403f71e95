/**
 * Whether an SQL text only sets, shows or asks: the pings of drivers and poolers, settings, savepoints. A transaction of nothing else has done nothing under its name.
 *
 * Pure. Only what is certainly of this kind counts. A client may put functions, types and operators of its own ahead of the built-in ones (`search_path`): what such a one writes takes the
 * name all the same, since PostgreSQL is asked whether the transaction has an id.
 */
import { plainTokens, type Token } from './plain-tokens.ts';

/**
 * `asks`: what later texts mean stays as it is. `alters`: it may change that, by a setting. `gives`: it sets one setting, whose name is a parameter; beside that it asks. `acts`: it may do anything else.
 */
export type TextKind = 'asks' | 'gives' | 'alters' | 'acts';

/** Longer texts count as acting. */
const askingCharsMax = 1_000;

const controls = words('show begin start commit end rollback abort savepoint release');
/** Settings that change nothing of what a text means. */
const harmlessSettings = words(
  `barista.request_id application_name statement_timeout lock_timeout transaction_timeout idle_session_timeout
  idle_in_transaction_session_timeout deadlock_timeout work_mem maintenance_work_mem client_min_messages transaction_isolation
  default_transaction_isolation`,
);
const constants = words('true false null');
/** Written without parentheses, or with a number in them. */
const values = words(
  `current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime
  localtimestamp session_user system_user user`,
);
const functions = words(
  `version current_database current_schema now clock_timestamp statement_timestamp transaction_timestamp timeofday
  pg_is_in_recovery pg_backend_pid pg_postmaster_start_time pg_conf_load_time pg_client_encoding pg_my_temp_schema
  inet_client_addr inet_client_port inet_server_addr inet_server_port txid_current_if_assigned
  pg_current_xact_id_if_assigned pg_current_wal_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn`,
);
const askingFunctions = words('set_config current_setting');
const types = words(
  `bigint bit bool boolean bpchar bytea char character cidr date decimal float float4 float8 inet int int2 int4 int8
  integer interval json jsonb macaddr money name national nchar numeric oid real regclass regproc regtype smallint text
  time timestamp timestamptz timetz uuid varchar xml`,
);
/** Words behind the first of a type's name. */
const typeWords = words('varying character char with without time zone');
const operatorSigns = '+-*/%=<>|';

/** `text`: read as latin1. */
export function kindOfText(text: string): TextKind {
  if (text.length > askingCharsMax) return 'acts';
  const tokens = plainTokens(text);
  if (tokens === null) return 'acts';
  let kind: TextKind = 'asks';
  for (const statement of statementsOf(tokens)) {
    const one = kindOfStatement(statement);
    if (one === 'acts') return 'acts';
    if (one !== 'asks') kind = kind === 'asks' ? one : 'alters';
  }
  return kind;
}

/** DISCARD ALL, by itself: behind it a session is as if it had just begun. */
export function discardsAll(text: string): boolean {
  if (text.length > askingCharsMax) return false;
  const tokens = plainTokens(text) ?? [];
  const [statement = [], ...others] = statementsOf(tokens);
  const all = statement.map(({ value }) => value).join(' ') === 'discard all';
  return all && others.every(({ length }) => length === 0);
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

function statementsOf(tokens: readonly Token[]): Token[][] {
  const statements: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'sign' && token.value === ';') statements.push([]);
    else statements.at(-1)!.push(token);
  }
  return statements;
}

function kindOfStatement(tokens: readonly Token[]): TextKind {
  const [first, second] = tokens;
  if (first === undefined) return 'asks';
  if (first.kind !== 'word') return 'acts';
  if (first.value === 'set' || first.value === 'reset') return kindOfSetting(tokens);
  if (first.value === 'select') return new Selection(tokens).kind();
  // What was prepared is another transaction.
  return controls.has(first.value) && second?.value !== 'prepared' ? 'asks' : 'acts';
}

function kindOfSetting([, ...tokens]: readonly Token[]): TextKind {
  const scoped = tokens[0]?.value === 'session' || tokens[0]?.value === 'local';
  const [first, ...rest] = scoped ? tokens.slice(1) : tokens;
  if (first?.value === 'transaction' || first?.value === 'characteristics') return 'asks';
  const names = [first, ...rest].slice(0, rest[0]?.value === '.' ? 3 : 1);
  return harmlessSettings.has(
    names
      .map((token) => token?.value ?? '')
      .join('')
      .toLowerCase(),
  )
    ? 'asks'
    : 'alters';
}

/** SELECT, without a FROM: a list of expressions. */
class Selection {
  private readonly tokens: readonly Token[];
  private at = 1;
  private gives = 0;
  private alters = false;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  kind(): TextKind {
    const { length } = this.tokens;
    while (this.at < length) {
      if (!this.expression() || (this.word('as') && !this.isName())) return 'acts';
      if (this.isName()) this.at += 1;
      if (this.at < length && (!this.sign(',') || this.at === length)) return 'acts';
    }
    if (this.alters || this.gives > 1) return 'alters';
    return this.gives === 1 ? 'gives' : 'asks';
  }

  private expression(): boolean {
    if (!this.operand()) return false;
    while (this.isOperator()) {
      while (this.isOperator()) this.at += 1;
      if (!this.operand()) return false;
    }
    return true;
  }

  private operand(): boolean {
    while (this.sign('-') || this.sign('+'));
    if (!this.primary()) return false;
    while (this.sign(':')) if (!this.sign(':') || !this.type()) return false;
    return true;
  }

  private primary(): boolean {
    const token = this.tokens[this.at];
    if (token === undefined) return false;
    if (token.kind === 'parameter' || token.kind === 'number') {
      this.at += 1;
      return true;
    }
    if (token.kind === 'string') return this.strings();
    if (this.sign('(')) return this.expression() && this.sign(')');
    return token.kind === 'word' && this.named(token.value);
  }

  /** One that goes on in the next line is one, too. */
  private strings(): boolean {
    const begin = this.at;
    while (this.tokens[this.at]?.kind === 'string') this.at += 1;
    return this.at > begin;
  }

  private named(value: string): boolean {
    if (this.isCall(1)) return this.call();
    if (value === 'pg_catalog' && this.tokens[this.at + 1]?.value === '.') {
      if (this.isCall(3)) {
        this.at += 2;
        return this.call();
      }
    } else if (value === 'pg_barista') return this.asksForName();
    else if (constants.has(value) || values.has(value)) {
      this.at += 1;
      return true;
    }
    return this.type() && this.strings();
  }

  private asksForName(): boolean {
    const isIt =
      this.tokens[this.at + 1]?.value === '.' && this.tokens[this.at + 2]?.value === 'request_committed';
    this.at += 3;
    return isIt && this.parameters();
  }

  private call(): boolean {
    const name = this.tokens[this.at]!.value;
    this.at += 1;
    if (name === 'cast') return this.cast();
    if (askingFunctions.has(name)) {
      if (name === 'set_config') this.notesSetting();
      return this.parameters();
    }
    if (!this.sign('(')) return false;
    if (values.has(name) && this.tokens[this.at]?.kind === 'number') this.at += 1;
    else if (!functions.has(name)) return types.has(name) && this.typedCall();
    return this.sign(')');
  }

  /** `interval(3) '1 s'`: the number is part of the type. */
  private typedCall(): boolean {
    this.at -= 2;
    return this.type() && this.strings();
  }

  private cast(): boolean {
    return this.sign('(') && this.expression() && this.word('as') && this.type() && this.sign(')');
  }

  private notesSetting(): void {
    const [, name, behind] = this.tokens.slice(this.at);
    if (name?.kind === 'parameter') this.gives += 1;
    else if (name?.kind !== 'string' || behind?.value !== ',') this.alters = true;
    else if (!harmlessSettings.has(name.value.toLowerCase())) this.alters = true;
  }

  /** Perhaps with their names. */
  private parameters(): boolean {
    if (!this.sign('(')) return false;
    do {
      if (this.tokens[this.at + 1]?.value === '=' && this.tokens[this.at + 2]?.value === '>') {
        this.at += 3;
        this.alters = true;
      }
      if (!this.expression()) return false;
    } while (this.sign(','));
    return this.sign(')');
  }

  private type(): boolean {
    if (this.word('pg_catalog') && !this.sign('.')) return false;
    const token = this.tokens[this.at];
    if (token?.kind !== 'word') return false;
    this.at += 1;
    if (token.value === 'double') return this.word('precision') && this.brackets();
    if (!types.has(token.value)) return false;
    this.typeEnd();
    if (this.sign('(')) {
      do {
        if (this.tokens[this.at]?.kind !== 'number') return false;
        this.at += 1;
      } while (this.sign(','));
      if (!this.sign(')')) return false;
    }
    this.typeEnd();
    return this.brackets();
  }

  private typeEnd(): void {
    for (;;) {
      const token = this.tokens[this.at];
      if (token?.kind !== 'word' || !typeWords.has(token.value)) return;
      this.at += 1;
    }
  }

  private brackets(): boolean {
    while (this.sign('[')) if (!this.sign(']')) return false;
    return true;
  }

  private isCall(behind: number): boolean {
    const token = this.tokens[this.at + behind];
    return token?.kind === 'sign' && token.value === '(';
  }

  private isName(): boolean {
    const kind = this.tokens[this.at]?.kind;
    return kind === 'word' || kind === 'quotedName';
  }

  private isOperator(): boolean {
    const token = this.tokens[this.at];
    return token?.kind === 'sign' && operatorSigns.includes(token.value);
  }

  private sign(value: string): boolean {
    return this.passes('sign', value);
  }

  private word(value: string): boolean {
    return this.passes('word', value);
  }

  /** Goes on behind it, if it comes next. */
  private passes(kind: Token['kind'], value: string): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== kind || token.value !== value) return false;
    this.at += 1;
    return true;
  }
}
