// Series as Prometheus has them: what a role serves, with the labels of its pod.
import assert from 'node:assert/strict';
import { type MetricDescription, metricsByRole } from '../../../hack/generate/metrics.ts';

/** A series in promtool's notation. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

const { reconciler, webhook, query } = metricsByRole();

/** By the component that is scraped; the API server is the only one that is not ours. */
const served = { reconciler, lifecycle: reconciler, webhook, query };

export type Component = keyof typeof served;

/** Of Prometheus itself, and of the API server. */
const foreign: Readonly<Record<string, readonly string[]>> = { up: [], aggregator_unavailable_apiservice: ['name'] };

/** What every series of a pod has besides. */
export const scrapedLabels = ['job', 'pod'] as const;

/** The names under which a metric is stored, with the labels of each. */
function namesOf({ name, type, labels }: MetricDescription): readonly (readonly [string, readonly string[]])[] {
  if (type !== 'histogram') return [[name, labels]];
  return [
    [`${name}_bucket`, [...labels, 'le']],
    [`${name}_sum`, labels],
    [`${name}_count`, labels],
  ];
}

/** Every name that the component serves, with its labels. */
export function servedBy(component: Component): ReadonlyMap<string, readonly string[]> {
  return new Map([...Object.entries(foreign), ...served[component].flatMap(namesOf)]);
}

/** Of all components. */
export function servedNames(): ReadonlyMap<string, readonly string[]> {
  return new Map((Object.keys(served) as Component[]).flatMap((component) => [...servedBy(component)]));
}

/** One series; refuses what the component does not serve under that name with exactly those labels. */
export function seriesOf(component: Component, selector: string, values: string): Series {
  const [, name = '', text = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(selector) ?? [];
  const given = Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  );
  const { pod = 'a', ...own } = given;
  assert.deepEqual(Object.keys(own).toSorted(), servedBy(component).get(name)?.toSorted(), `${component}: ${selector}`);
  const { le = '+Inf' } = own;
  assert.ok(boundsOf(component, name).includes(le), `${component}: ${selector}`);
  return { series: scraped(component, name, labelText(own), pod), values };
}

/** One series of every name that any component serves, which rises by one in each minute. */
export function everySeries(): readonly Series[] {
  return (Object.keys(served) as Component[]).flatMap((component) =>
    served[component].flatMap((metric) =>
      namesOf(metric).flatMap(([name, labels]) => {
        const common = Object.fromEntries(labels.map((label) => [label, 'any']));
        const buckets = labels.includes('le') ? boundsOf(component, name).map((le) => ({ ...common, le })) : [common];
        return buckets.map((each) => ({ series: scraped(component, name, labelText(each)), values: '1+1x30' }));
      }),
    ),
  );
}

function boundsOf(component: Component, bucket: string): readonly string[] {
  const metric = served[component].find(({ name }) => `${name}_bucket` === bucket);
  return [...(metric?.bounds ?? []).map(String), '+Inf'];
}

/** A series as it is stored once it was scraped from a pod. */
export function scraped(component: Component, name: string, labels: string, pod = 'a'): string {
  const target = labelText({ job: `ingester-${component}-metrics`, pod });
  return `${name}{${labels === '' ? target : `${target},${labels}`}}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}="${value}"`)
    .join(',');
}
