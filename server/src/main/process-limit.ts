/** What the system allows this process (ulimit). */
interface Report {
  readonly userLimits?: Readonly<Record<string, { readonly soft?: number | string }>>;
}

/** Null: it is not told, or there is no limit. */
export function processLimit(name: 'open_files' | 'stack_size_bytes'): number | null {
  const { report } = process;
  if (report === undefined) return null;
  // Where this is known: else the names of all peers are looked up.
  Object.assign(report, { excludeNetwork: true });
  const most = (report.getReport() as Report).userLimits?.[name]?.soft;
  return typeof most === 'number' ? most : null;
}
