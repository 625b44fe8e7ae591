// The alerts that the bundle ships.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Alert[];
}

const file = join(import.meta.dirname, '../../../config/components/prometheus/alerts.yaml');

/** As Prometheus reads them, of all its objects together. */
export const ruleGroups: readonly Group[] = parseAllDocuments(readFileSync(file, 'utf8')).flatMap(
  (document) => (document.toJS() as { readonly spec: { readonly groups: readonly Group[] } }).spec.groups,
);

export const alerts: readonly Alert[] = ruleGroups.flatMap(({ rules }) => rules);
