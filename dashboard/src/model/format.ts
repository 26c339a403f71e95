/** Numbers and times for people. */
const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });

export function formatCount(value: number): string {
  return whole.format(value);
}

/** Three significant figures at most, so that a live figure does not jump about. */
export function formatRate(perSecond: number): string {
  if (perSecond >= 100_000) return `${whole.format(perSecond / 1000)}k`;
  if (perSecond >= 10_000) return `${(perSecond / 1000).toFixed(1)}k`;
  return perSecond < 10 && !Number.isInteger(perSecond) ? perSecond.toFixed(1) : whole.format(perSecond);
}

export function formatMs(ms: number): string {
  if (ms === 0) return '0 ms';
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

export function formatAge(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${whole.format(bytes)} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  const mebibytes = bytes / 1024 / 1024;
  return mebibytes < 1024
    ? `${mebibytes.toFixed(mebibytes < 10 ? 1 : 0)} MB`
    : `${(mebibytes / 1024).toFixed(1)} GB`;
}
