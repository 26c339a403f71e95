/** How findings are made, and sizes and times in words. */
import type { Finding, Severity } from '../facts.ts';

const of =
  (severity: Severity) =>
  (what: string, todo: string): Finding => ({ severity, what, todo });
export const error = of('error');
export const warning = of('warning');
export const notice = of('notice');

/** The finding if the condition holds, and else none. */
export function when(condition: boolean, finding: () => Finding): readonly Finding[] {
  return condition ? [finding()] : [];
}

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;

export function sizeText(bytes: number): string {
  const units = [
    [GIB, 'GiB'],
    [MIB, 'MiB'],
    [KIB, 'KiB'],
  ] as const;
  const [size, name] = units.find(([each]) => bytes >= each) ?? [1, 'bytes'];
  return `${(bytes / size).toFixed(bytes / size < 10 && size > 1 ? 1 : 0)} ${name}`;
}

export function ageText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}
