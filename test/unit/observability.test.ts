// Alerts and dashboard ask for metrics that exist, and every alert has its page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { dashboardOutput } from '../../hack/generate/dashboard.ts';
import { eventReasons } from '../../src/sync/events.ts';
import { alerts } from '../support/alerts/rules.ts';
import { scrapedLabels, servedNames } from '../support/alerts/series.ts';

const root = join(import.meta.dirname, '../..');

const { panels } = JSON.parse(dashboardOutput().content) as { panels: { targets?: { expr: string }[] }[] };
const expressions = [
  ...alerts.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

const known = new Map([...servedNames()].map(([name, labels]) => [name, [...labels, ...scrapedLabels]] as const));

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
    assert.deepEqual(headings.map(([, name]) => name).toSorted(), alerts.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations, labels } of alerts) {
      const page = `https://git.example/ingester/docs/runbooks.md#${alert.toLowerCase()}`;
      assert.equal(annotations['runbook_url'], page);
      assert.ok((annotations['description'] ?? '').length > 40, alert);
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
