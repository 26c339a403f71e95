import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exposedMetrics, unknownIn } from '../testing/exposed-metrics.ts';
import { anchorsOf } from '../testing/headings.ts';
import { root, textOf } from '../testing/places.ts';
import { hasPromtool, promtool } from '../testing/promtool.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const file = 'packaging/prometheus/alerts.yaml';
const { groups } = parse(textOf(file)) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

describe('the alert rules', () => {
  it('ask only for metrics and labels that a replica has', async () => {
    const families = await exposedMetrics();
    expect(
      rules.flatMap(({ alert, expr }) => unknownIn(expr, families).map((name) => `${alert}: ${name}`)),
    ).toEqual([]);
  });

  it('say how bad it is, what it is, and where it says what to do', () => {
    const headings = anchorsOf(textOf('docs/operations.md'));
    for (const { alert, labels, annotations } of rules) {
      expect([alert, /^Barista[A-Z][A-Za-z]+$/.test(alert)]).toEqual([alert, true]);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$|\?$/);
      const [page, heading = ''] = annotations.runbook.split('#');
      expect([alert, page, headings.has(heading)]).toEqual([alert, 'docs/operations.md', true]);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('know the states by their names', async () => {
    const families = await exposedMetrics();
    const { samples } = families.find(({ name }) => name === 'barista_state')!;
    const states = new Set(samples.map(({ labels }) => labels['state']));
    const asked = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/\bstate="(\w+)"/g)].map(([, state]) => state),
    );
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((state) => !states.has(state))).toEqual([]);
  });

  it('are tested by tests that name rules which there are', () => {
    const { tests } = parse(textOf('packaging/prometheus/alerts-test.yaml')) as {
      readonly tests: readonly { readonly alert_rule_test: readonly { readonly alertname: string }[] }[];
    };
    const names = tests.flatMap((one) => one.alert_rule_test.map(({ alertname }) => alertname));
    expect(names.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
  });

  it.skipIf(!hasPromtool)('are right in the eyes of Prometheus, and pass their own tests', () => {
    expect(promtool(['check', 'rules', join(root, file)])).toBeNull();
    expect(promtool(['test', 'rules', join(root, 'packaging/prometheus/alerts-test.yaml')])).toBeNull();
  });
});
