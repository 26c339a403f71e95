/** What damaged files came to: a line for each, a table, and what must not be. Pure. */
import type { Outcome } from './run-case.ts';

const saidCharsMax = 160;

export function describeOutcome(outcome: Outcome): string {
  const { target, action, role, when } = outcome;
  return `${target} ${action} (${role}, ${when}): ${cellOf(outcome)}${outcome.said === '' ? '' : `; ${outcome.said.slice(0, saidCharsMax)}`}`;
}

function cellOf({ code, copies, ms, said }: Outcome): string {
  // Statements: on the copy that is kept, or from the beginning of the log.
  const isRepeated = copies === 0 && said.includes('executed again');
  const copied = isRepeated
    ? 'executed again'
    : copies === 0
      ? 'no copy'
      : copies === 1
        ? 'copied'
        : `${copies} copies`;
  switch (code) {
    case 'whole':
      return copies === 0 && !isRepeated ? 'no harm' : `${copied}, ${Math.round(ms / 1000)} s`;
    case 'restarted':
      return `${copied} at the next start`;
    case 'stated':
      return 'says why';
    case 'unnoticed':
      return 'UNNOTICED';
    case 'absent':
      return '–';
    default:
      return code satisfies never;
  }
}

const columns = ['follower, stopped', 'follower, running', 'leader, stopped', 'leader, running'] as const;

/** In Markdown: a row for each damage. */
export function tableOf(outcomes: readonly Outcome[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const names = [...new Set(outcomes.map(({ target, action }) => `${target} ${action}`))];
  const rows = names.map((name) => {
    const of = outcomes.filter(({ target, action }) => `${target} ${action}` === name);
    const cells = columns.map((column) => {
      const found = of.find(({ role, when }) => `${role}, ${when}` === column);
      return found === undefined ? '' : cellOf(found);
    });
    const { target, action } = of[0]!;
    return line([`\`${target}\``, action, ...cells]);
  });
  return [line(['what', 'damage', ...columns]), line(['---', '---', ...columns.map(() => '---')]), ...rows];
}

/** Neither whole in time, nor one clear state with a sentence. */
export function findingsOf(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.flatMap((outcome) => {
    const why = whyUnclear(outcome);
    return why === null ? [] : [`${describeOutcome(outcome)}: ${why}`];
  });
}

/** Null: it is as it must be. */
function whyUnclear({ code, words }: Outcome): string | null {
  if (code === 'unnoticed') return 'it says that it serves, and does not';
  if (code !== 'stated') return null;
  const states = [...new Set(words.map(({ state }) => state))];
  if (states.length !== 1) return `it says one thing after the other (${states.join(', ')})`;
  const [state] = states;
  if (state === 'silent') return 'it does not answer';
  if (state === 'starting' || state === 'serving') return `${state} is no answer`;
  if (state === 'databaseDown' && words.some(({ recovers }) => !recovers))
    return 'its database is down, and it does nothing about it';
  return words.every(({ message }) => message === null || message === '') ? 'it does not say why' : null;
}
