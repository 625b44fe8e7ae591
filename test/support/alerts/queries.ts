// What the dashboard and the docs ask Prometheus.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboardOutput } from '../../../hack/generate/dashboard.ts';
import { servedNames } from './series.ts';

const root = join(import.meta.dirname, '../../..');
const SELECTION = /`([a-z_]+)\{([^`\n]+)\}`/g;

/** Grafana's variable is a time of its own choice. */
export function dashboardQueries(): readonly string[] {
  const { panels } = JSON.parse(dashboardOutput().content) as { readonly panels: readonly Panel[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')));
}

interface Panel {
  readonly targets?: readonly { readonly expr: string }[];
}

/** Each text between backquotes that selects series of a metric. */
export function documentedQueries(): readonly string[] {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root });
  return pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(SELECTION)].map(([, name = '', labels = '']) =>
      selecting(servedNames().has(`${name}_count`) ? `${name}_count` : name, labels),
    ),
  );
}

/** Of series with any values: `{kind}` in the docs says that there is such a label. */
function selecting(name: string, labels: string): string {
  const present = labels.split(',').map((label) => `${label.replace(/[=!].*$/, '')}!=""`);
  return `${name}{${present.join(',')}}`;
}
