/**
 * How the command line talks to a demo that runs: finding it, asking it, and saying what went wrong.
 */
import type { ClusterStatus, FaultAnswer, FaultRequest } from '../api/status.ts';
import type { ClusterReport } from '../demo/cluster-report.ts';
import { readRunning } from '../demo/data-dir.ts';
import { requestJson } from '../demo/http-client.ts';
import { CliError, exitCodes } from '../main/errors.ts';

export const defaultDashboardPort = 8080;

/** A port that was given wins; then the demo of the data directory; then the default. */
export async function findDemo(given: number | null, dataDir: string): Promise<number> {
  return given ?? (await readRunning(dataDir))?.dashboardPort ?? defaultDashboardPort;
}

/** @throws CliError notRunning */
export async function fetchReport(port: number): Promise<ClusterReport> {
  const answer = await ask({ port, path: '/api/report', timeoutMs: 5000 });
  const report = answer.body as Partial<ClusterReport> | null | undefined;
  if (answer.status !== 200 || !Array.isArray(report?.replicas)) throw notDemo(port);
  return report as ClusterReport;
}

/** Its replicas with their processes. @throws CliError notRunning */
export async function fetchProcesses(port: number): Promise<ClusterStatus['replicas']> {
  const answer = await ask({ port, path: '/api/cluster', timeoutMs: 5000 });
  const cluster = answer.body as Partial<ClusterStatus> | null | undefined;
  if (answer.status !== 200 || !Array.isArray(cluster?.replicas)) throw notDemo(port);
  return (cluster as ClusterStatus).replicas;
}

/** What was done, in words. @throws CliError notRunning, or refused with the demo's reason */
export async function sendFault(port: number, request: FaultRequest): Promise<string> {
  // A restart waits for the old process to stop.
  const answer = await ask({ port, path: '/api/fault', method: 'POST', body: request, timeoutMs: 30_000 });
  const body = answer.body as
    | (Partial<FaultAnswer> & { readonly error?: { readonly code?: string; readonly message?: string } })
    | null
    | undefined;
  if (answer.status === 200 && typeof body?.message === 'string') return body.message;
  if (body?.error?.message === undefined) throw notDemo(port);
  if (answer.status === 400) throw new CliError(body.error.message, exitCodes.usage);
  const hint = body.error.code === 'beyondMinority' ? ' Use --force to do it anyway.' : '';
  throw new CliError(`Refused: ${body.error.message}${hint}`, exitCodes.refused);
}

async function ask(request: Parameters<typeof requestJson>[0]): ReturnType<typeof requestJson> {
  try {
    return await requestJson(request);
  } catch (cause) {
    throw new CliError(
      `No demo answers on port ${request.port} (${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}). ` +
        'Start one with "barista demo", or say where it is with --dashboard-port or --data-dir.',
      exitCodes.notRunning,
      { cause },
    );
  }
}

function notDemo(port: number): CliError {
  return new CliError(
    `The server on port ${port} is not a demo. Say where it is with --dashboard-port or --data-dir.`,
    exitCodes.notRunning,
  );
}
