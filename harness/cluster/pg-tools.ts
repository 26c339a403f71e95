/** Clients that we did not write: PostgreSQL's own tools, against a port of a cluster. */
import { spawn } from 'node:child_process';

export interface ToolResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const ENVIRONMENT = { PGHOST: '127.0.0.1', PGUSER: 'barista', PGPASSWORD: 'barista', PGDATABASE: 'barista' };

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<ToolResult> {
  const child = spawn(command, args, { env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error(`${command} did not start: install PostgreSQL's client tools`, { cause })),
    );
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs a script; stops at the first error. Rows come back unaligned, fields separated by `|`. */
export function psql(port: number, script: string): Promise<ToolResult> {
  return run(
    'psql',
    ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-f', '-'],
    { ...ENVIRONMENT, PGPORT: String(port) },
    script,
  );
}

/** As the operator: straight to a replica's own PostgreSQL, by its socket. */
export function psqlSocket(
  postgres: { socketDir: string; port: number },
  script: string,
): Promise<ToolResult> {
  const env = {
    PGHOST: postgres.socketDir,
    PGPORT: String(postgres.port),
    PGUSER: 'postgres',
    PGDATABASE: 'barista',
  };
  return run('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-f', '-'], env, script);
}

export function pgbench(port: number, args: readonly string[]): Promise<ToolResult> {
  return run('pgbench', args, { ...ENVIRONMENT, PGPORT: String(port) });
}

/** `env`: in place of what is usual here, such as another PGDATABASE. */
export function pgTool(
  tool: 'psql' | 'pgbench' | 'pg_dump' | 'pg_restore',
  port: number,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ToolResult> {
  return run(tool, args, { ...ENVIRONMENT, PGPORT: String(port), ...env });
}
