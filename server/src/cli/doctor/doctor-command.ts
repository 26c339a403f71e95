/** `barista doctor`: looks at a replica from its machine, and says what is wrong and what to do. */
import type { DoctorFacts, Finding } from './facts.ts';
import { collectFactsApart } from './collect-apart.ts';
import { visibleInLine } from '../visible.ts';
import { examine, verdictOf } from './examine.ts';

/** 0: nothing but notices. 1: warnings. 2: errors. */
export async function runDoctor(
  configFile: string,
  json: boolean,
  say: (line: string) => void,
  collect: (configFile: string) => Promise<DoctorFacts> = collectFactsApart,
): Promise<0 | 1 | 2> {
  const facts = await collect(configFile);
  const findings = examine(facts);
  if (json) say(JSON.stringify({ verdict: verdictOf(findings), findings }, null, 2));
  else for (const line of doctorLines(facts, findings)) say(line);
  return verdictOf(findings);
}

const width = 10;

export function doctorLines({ config, configFile }: DoctorFacts, findings: readonly Finding[]): string[] {
  const who = config.ok ? `${config.value.id} of group ${config.value.group}` : 'A replica';
  // With a configuration that can be read, findings hold names of clients' making, which could look like advice of ours.
  const shown = config.ok ? visibleInLine : indented;
  const lines = findings.flatMap(({ severity, what, todo }) => [
    '',
    `${severity.padEnd(width)}${shown(what)}`,
    `${' '.repeat(width)}-> ${shown(todo)}`,
  ]);
  return [`${who} (${configFile})`, ...lines, '', summary(findings)];
}

/** An error of the configuration has several lines. */
function indented(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(width)}`);
}

function summary(findings: readonly Finding[]): string {
  const counts = (['error', 'warning', 'notice'] as const).flatMap((each) => {
    const count = findings.filter(({ severity }) => severity === each).length;
    return count === 0 ? [] : [`${count} ${each}${count === 1 ? '' : 's'}`];
  });
  return counts.length === 0 ? 'Nothing is wrong.' : `${counts.join(', ')}.`;
}
