/** What a replica exposes to Prometheus, with each kind of thing in it that can be told. */
import { createMetrics } from '../../server/src/gateways/http/metrics.ts';
import { type Family, readExposition } from '../../server/src/gateways/http/testing/exposition.ts';
import { fakeReplica } from '../../server/src/gateways/http/testing/fake-replica.ts';

export async function exposedMetrics(): Promise<readonly Family[]> {
  const replica = fakeReplica('r1');
  const metrics = createMetrics(() => replica.status(), { measures: () => replica.measures() });
  metrics.latencies.agreement(1);
  metrics.latencies.logWrite({ ms: 1, records: 1, bytes: 1 });
  return readExposition(await metrics.text());
}

/** Those of a histogram are there once something was counted: garbage collections, for one. */
function samplesOf({ name, type, samples }: Family): readonly string[] {
  const ofHistogram = ['_sum', '_count', '_bucket'].map((end) => `${name}${end}`);
  return type === 'histogram' ? ofHistogram : samples.map((one) => one.name);
}

/** Labels that a scrape adds to each. */
const ofScrapes = ['job', 'instance'];
/** A name that no function is called by, with what is in braces behind it. */
const selector = /(?<![\w"'$])([a-zA-Z_:][\w:]*)(?![\w:]|\s*\()(?:\{([^}]*)\})?/g;
const keywords = new Set(['and', 'or', 'unless', 'by', 'on', 'without']);

/** What a query asks for that no replica has: metrics, and labels of them. */
export function unknownIn(query: string, families: readonly Family[]): string[] {
  const bySample = new Map(
    families.flatMap((family) => samplesOf(family).map((name) => [name, family] as const)),
  );
  const bare = query.replaceAll(/\b(?:by|on|without)\s*\([^)]*\)/g, '').replaceAll(/\[[^\]]*\]/g, '');
  return [...bare.matchAll(selector)].flatMap(([, name = '', matchers = '']) => {
    if (keywords.has(name) || name === 'up') return [];
    const family = bySample.get(name);
    if (family === undefined) return [name];
    const labels = new Set([...ofScrapes, ...family.samples.flatMap((one) => Object.keys(one.labels))]);
    const asked = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label);
    return asked.filter((label) => !labels.has(label)).map((label) => `${name}{${label}}`);
  });
}
