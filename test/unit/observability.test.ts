// Alerts and dashboard ask for metrics that exist, and every alert has its page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { dashboardOutput } from '../../hack/generate/dashboard.ts';
import { metricDescriptions } from '../../hack/generate/metrics.ts';
import { eventReasons } from '../../src/sync/events.ts';

const root = join(import.meta.dirname, '../..');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const rules = parseAllDocuments(readFileSync(join(root, 'config/components/prometheus/alerts.yaml'), 'utf8')).flatMap(
  (document) =>
    (document.toJS() as { spec: { groups: { rules: Alert[] }[] } }).spec.groups.flatMap((group) => group.rules),
);
const { panels } = JSON.parse(dashboardOutput().content) as { panels: { targets?: { expr: string }[] }[] };
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

/** Labels that every scraped series has. */
const SCRAPED = ['job', 'pod', 'le'];
const known = new Map(
  metricDescriptions().flatMap(({ name, type, labels }) => {
    const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name];
    return names.map((each) => [each, [...labels, ...SCRAPED]] as const);
  }),
);
known.set('up', SCRAPED);
// Of the API server.
known.set('aggregator_unavailable_apiservice', ['name', ...SCRAPED]);

/** Names with the labels they are selected by. */
function selectionsOf(expression: string): readonly (readonly [string, readonly string[]])[] {
  const series = /\b([a-z]+(?:_[a-z]+)*)(?:\{([^}]*)\})?(?=\[|\)| >| \*|\s*$|\})/g;
  return [...expression.matchAll(series)]
    .filter(([, name = '']) => name.includes('_') || name === 'up')
    .filter(([, name]) => name !== 'histogram_quantile')
    .map(([, name = '', labels = '']) => [name, [...labels.matchAll(/(\w+)(?:=|!)/g)].map(([, label = '']) => label)]);
}

describe('alerts and dashboard', () => {
  it('ask for metrics and labels that the roles serve', () => {
    for (const expression of expressions) {
      const selections = selectionsOf(expression);
      assert.ok(selections.length > 0, expression);
      for (const [name, labels] of selections) {
        assert.ok(known.has(name), `${name} in ${expression}`);
        for (const label of labels) assert.ok(known.get(name)?.includes(label), `${name}{${label}}`);
      }
    }
  });

  it('group by labels that the metrics have', () => {
    for (const expression of expressions) {
      const labels = selectionsOf(expression).flatMap(([name]) => known.get(name) ?? []);
      for (const [, group = ''] of expression.matchAll(/by \(([^)]*)\)/g)) {
        for (const label of group.split(', ')) assert.ok(labels.includes(label), `${label} in ${expression}`);
      }
    }
  });

  it('name event reasons that exist', () => {
    for (const expression of expressions) {
      for (const [, reason = ''] of expression.matchAll(/reason="(\w+)"/g)) {
        assert.ok(
          eventReasons.some((each) => each === reason),
          reason,
        );
      }
    }
  });

  it('have a runbook for each alert, and no other', () => {
    const headings = [...readFileSync(join(root, 'docs/runbooks.md'), 'utf8').matchAll(/^## (\w+)$/gm)];
    assert.deepEqual(headings.map(([, name]) => name).toSorted(), rules.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations, labels } of rules) {
      assert.equal(annotations['runbook'], `docs/runbooks.md#${alert.toLowerCase()}`);
      assert.ok(['critical', 'warning', 'info'].includes(labels['severity'] ?? ''), alert);
      assert.ok((annotations['summary'] ?? '').length > 20, alert);
    }
  });

  it('draw every panel on the grid, none over another', () => {
    const places = (panels as unknown as { gridPos: { x: number; y: number; w: number; h: number } }[]).map(
      (panel) => panel.gridPos,
    );
    const cells = places.flatMap(({ x, y, w, h }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    assert.equal(new Set(cells).size, cells.length);
    assert.ok(places.every(({ x, w }) => Number.isInteger(w) && x + w <= 24));
  });
});
