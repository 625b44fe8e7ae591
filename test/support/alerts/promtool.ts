// Rules and their unit tests in the files that promtool reads; JSON is YAML.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandResult, runCommand } from '../../../hack/local/run-command.ts';
import type { AlertCase } from './cases.ts';
import { type Alert, ruleGroups } from './rules.ts';
import { type Series, seriesOf } from './series.ts';

const outcomes = ['fires', 'does not fire', 'resolves'] as const;

type Outcome = (typeof outcomes)[number];

/** What promtool calls a test group. */
export interface UnitTest {
  readonly name: string;
  /** Unix time in seconds; 0 unless given. */
  readonly start_timestamp?: number;
  readonly input_series: readonly Series[];
  readonly alert_rule_test?: readonly object[];
  readonly promql_expr_test?: readonly object[];
}

const INTERVAL = '1m';
const RULES = 'rules.json';

/** The three tests of an alert. */
export function testsOf(rule: Alert, { component, series, quiet, ...wanted }: AlertCase): readonly UnitTest[] {
  const firing = {
    exp_labels: { ...rule.labels, ...wanted.labels },
    exp_annotations: { ...rule.annotations, ...(wanted.summary === undefined ? {} : { summary: wanted.summary }) },
  };
  const given: Readonly<Record<Outcome, { readonly series: AlertCase['series']; readonly at: readonly string[] }>> = {
    fires: { series, at: [wanted.fires] },
    'does not fire': { series: quiet.series, at: [quiet.at] },
    resolves: { series, at: [wanted.resolves] },
  };
  return outcomes.map((outcome) => ({
    name: `${rule.alert} ${outcome}`,
    input_series: Object.entries(given[outcome].series).map(([each, values]) => seriesOf(component, each, values)),
    alert_rule_test: given[outcome].at.map((at) => ({
      eval_time: at,
      alertname: rule.alert,
      exp_alerts: outcome === 'fires' ? [firing] : [],
    })),
  }));
}

/** Each expression has a result on the series, half an hour after their start. */
export function queriesAnswer(name: string, expressions: readonly string[], series: readonly Series[]): UnitTest {
  return {
    name,
    input_series: series,
    promql_expr_test: expressions.map((expr) => ({
      expr: `count(${expr}) > bool 0`,
      eval_time: '30m',
      exp_samples: [{ labels: '{}', value: 1 }],
    })),
  };
}

export class Promtool {
  readonly #program: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'promtool-'));

  constructor(program: string) {
    this.#program = program;
  }

  checkRules(): Promise<CommandResult> {
    this.#write(RULES, { groups: ruleGroups });
    return this.#run('check', 'rules', '--lint=all', '--lint-fatal', RULES);
  }

  /** Evaluates these rules, and no other, in each minute of the tests. */
  testRules(rules: readonly Alert[], tests: readonly UnitTest[]): Promise<CommandResult> {
    this.#write(RULES, { groups: [{ name: 'tested', rules }] });
    this.#write('tests.json', { rule_files: [RULES], evaluation_interval: INTERVAL, tests });
    return this.#run('test', 'rules', '--diff', 'tests.json');
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(...args: readonly string[]): Promise<CommandResult> {
    return runCommand(this.#program, args, { cwd: this.#folder });
  }

  #write(name: string, content: object): void {
    writeFileSync(join(this.#folder, name), JSON.stringify(content));
  }
}
