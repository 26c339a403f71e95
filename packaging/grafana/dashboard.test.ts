import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exposedMetrics, unknownIn } from '../testing/exposed-metrics.ts';
import { textOf } from '../testing/places.ts';
import { hasPromtool, promtool } from '../testing/promtool.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboard = JSON.parse(textOf('packaging/grafana/barista.json')) as Dashboard;
const shown = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = [
  ...shown.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
  ...dashboard.annotations.list.map(({ expr }) => ({ title: 'annotation', expr })),
];

describe('the dashboard', () => {
  it('asks only for metrics and labels that a replica has', async () => {
    const families = await exposedMetrics();
    const unknown = queries.flatMap(({ title, expr }) =>
      unknownIn(expr, families).map((name) => `${title}: ${name}`),
    );
    expect(unknown).toEqual([]);
    const ofVariables = dashboard.templating.list.flatMap(
      ({ definition = '' }) => /^label_values\((\w+), job\)$/.exec(definition)?.[1] ?? [],
    );
    expect(ofVariables.flatMap((metric) => unknownIn(metric, families))).toEqual([]);
  });

  it('would be caught if it asked for others', async () => {
    const families = await exposedMetrics();
    expect(unknownIn('sum(rate(barista_nothing_total{job="$job"}[5m]))', families)).toEqual([
      'barista_nothing_total',
    ]);
    expect(unknownIn('barista_role{rolle="leader"} == 1', families)).toEqual(['barista_role{rolle}']);
    expect(
      unknownIn('histogram_quantile(0.5, sum by (le) (rate(barista_agreement_seconds[1m])))', families),
    ).toEqual(['barista_agreement_seconds']);
    expect(unknownIn('barista_log_bytes - barista_log_byte', families)).toEqual(['barista_log_byte']);
  });

  it('shows every panel once, with a title and a query, of one group only', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(shown.filter(({ title, targets = [] }) => title === '' || targets.length === 0)).toEqual([]);
    expect(queries.filter(({ expr }) => !expr.includes('{job="$job"'))).toEqual([]);
    for (const { targets = [] } of shown)
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
  });

  it('has no two panels in the same place, and none outside', () => {
    const wrong: string[] = [];
    dashboard.panels.forEach(({ title, gridPos: a }, index) => {
      if (a.x < 0 || a.x + a.w > 24 || a.w < 1 || a.h < 1) wrong.push(`${title} is outside`);
      for (const { title: other, gridPos: b } of dashboard.panels.slice(index + 1)) {
        const isApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        if (!isApart) wrong.push(`${title} and ${other}`);
      }
    });
    expect(wrong).toEqual([]);
  });

  it('shows what an operator asks first', () => {
    const text = queries.map(({ expr }) => expr).join('\n');
    for (const name of [
      'barista_role',
      'barista_ballot_round',
      'barista_elections_lost_total',
      'barista_transactions_total',
      'barista_agreement_seconds_bucket',
      'barista_log_write_seconds_bucket',
      'barista_peer_behind_slots',
      'barista_standby_replayed_behind_bytes',
      'barista_clients',
      'barista_recovery_ratio',
      'barista_archive_behind_bytes',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
    ])
      expect(text).toContain(name);
  });

  it.skipIf(!hasPromtool)('has queries that Prometheus understands', () => {
    const directory = mkdtempSync(join(tmpdir(), 'barista-queries-'));
    const plain = (expr: string): string =>
      expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'barista');
    const rules = queries.map(({ expr }, index) => ({ record: `query:${index}`, expr: plain(expr) }));
    const file = join(directory, 'queries.json');
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    const wrong = promtool(['check', 'rules', file]);
    rmSync(directory, { recursive: true });
    expect(wrong).toBeNull();
  });
});
