import { expect, it } from 'vitest';
import { portProblem } from './ports.ts';

const sql = { port: 7432, purpose: 'SQL clients of r1', option: '--port' } as const;

it('a port that is taken can be moved before there is a cluster', () => {
  expect(portProblem(sql, 'EADDRINUSE', false)).toBe(
    'Port 7432, needed for SQL clients of r1, is in use by another program. Stop that program. Or choose other ports with --port.',
  );
});

it('of a cluster that keeps its ports, --port alone is not advised', () => {
  expect(portProblem(sql, 'EADDRINUSE', true)).toContain(
    'keeps its ports: for others, start a new one with --data-dir and --port.',
  );
  const page = { port: 8080, purpose: 'the dashboard', option: '--dashboard-port' } as const;
  expect(portProblem(page, 'EACCES', true)).toContain('Or choose other ports with --dashboard-port.');
});
