/**
 * `barista.acknowledge`: when a session's client wants to be answered.
 *
 * Responsible for: which levels a session may ask for, and which one it is at. PostgreSQL has the setting too, for SHOW; what a session's level is nobody asks it, so nothing is changed by what is executed again.
 * Pure.
 */
import type { AcknowledgeChange } from '../../determinism/rewriting.ts';
import { type AskedLevel, askedLevels } from '../../payload/statements/operation.ts';
import type { GatewayError } from '../../pgwire/backend-messages.ts';

/** `none`: nothing is sent to anybody, and no session can have it otherwise. */
export interface LevelRules {
  readonly ofGroup: AskedLevel | 'none';
  /** Sessions may ask for less than the group's. */
  readonly mayLower: boolean;
}

const own: GatewayError = {
  sqlState: '0A000',
  message: 'barista.acknowledge is followed only in a SET or RESET of its own',
  hint: "SET barista.acknowledge = 'sync' as a message of its own, outside of a transaction.",
};
const inTransaction: GatewayError = {
  sqlState: '25001',
  message: 'barista.acknowledge cannot be changed within a transaction',
};
const notServed: GatewayError = {
  sqlState: '0A000',
  message: 'barista.acknowledge is served only where a primary orders (protocol: primary)',
};

/** What a value comes to. */
export function levelOf(value: string, { ofGroup, mayLower }: LevelRules): AskedLevel | GatewayError {
  const level = askedLevels.find((each) => each === value);
  if (ofGroup === 'none' || level === undefined) {
    const hint =
      ofGroup === 'none'
        ? 'The group does not replicate (primary.replication: none).'
        : `Available values: ${askedLevels.join(', ')}.`;
    if (ofGroup === 'none' && value === 'none') return { ...notServed, hint };
    const message = `invalid value for parameter "barista.acknowledge": "${value}"`;
    return { sqlState: '22023', message, hint };
  }
  if (!mayLower && askedLevels.indexOf(level) < askedLevels.indexOf(ofGroup))
    return {
      sqlState: '42501',
      message: `permission denied to set parameter "barista.acknowledge" below "${ofGroup}"`,
      hint: 'The operator allows it by primary.sessionsMayLower.',
    };
  return level;
}

export class SessionLevel {
  /** Null: the group's own. */
  now: AskedLevel | null;
  private readonly rules: LevelRules | null;
  private readonly begun: AskedLevel | null;

  /** `rules` null: no primary orders. */
  constructor(rules: LevelRules | null, begun: AskedLevel | null) {
    this.rules = rules;
    this.begun = begun;
    this.now = begun;
  }

  /** What it is once that is done; or why it is not. */
  after(
    { value, isAll, isAlone }: AcknowledgeChange & { readonly isAlone: boolean },
    isInBlock: boolean,
  ): { readonly level: AskedLevel | null } | GatewayError {
    if (isAll && (this.rules === null || this.now === this.begun)) return { level: this.begun };
    if (this.rules === null) return notServed;
    if (!isAlone) return own;
    if (isInBlock) return inTransaction;
    if (value === null) return { level: this.begun };
    const level = levelOf(value, this.rules);
    return typeof level === 'string' ? { level } : level;
  }

  /** Nobody knows whether it has changed. */
  perhaps(level: AskedLevel | null): void {
    const rank = (one: AskedLevel | null): number => {
      const ofGroup = this.rules?.ofGroup ?? 'none';
      const meant = one ?? ofGroup;
      return meant === 'none' ? -1 : askedLevels.indexOf(meant);
    };
    if (rank(level) > rank(this.now)) this.now = level;
  }
}
