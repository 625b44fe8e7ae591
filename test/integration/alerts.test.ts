// The alerts and the queries of the dashboard, run by Prometheus' own program.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import type { CommandResult } from '../../hack/local/run-command.ts';
import { alertCases } from '../support/alerts/cases.ts';
import { Promtool, queriesAnswer, testsOf } from '../support/alerts/promtool.ts';
import { dashboardQueries, documentedQueries } from '../support/alerts/queries.ts';
import { alerts } from '../support/alerts/rules.ts';
import { everySeries } from '../support/alerts/series.ts';

const preparation = { env: process.env, progress: () => undefined, signal: undefined };

describe('Prometheus', async () => {
  const program = await findGoProgram(goPrograms.promtool, preparation);
  const skip = program === undefined ? 'needs Go on PATH to build promtool' : false;
  const promtool = new Promtool(program ?? '');
  after(() => promtool.remove());

  const passes = ({ code, stdout, stderr }: CommandResult): void => assert.equal(code, 0, stdout + stderr);

  it('finds nothing to say against the rules', { skip }, async () => passes(await promtool.checkRules()));

  it('has three cases for each alert, and no other', () => {
    assert.deepEqual(Object.keys(alertCases).toSorted(), alerts.map(({ alert }) => alert).toSorted());
    for (const [name, { fires, resolves, quiet }] of Object.entries(alertCases)) {
      assert.ok(Number.parseInt(resolves, 10) > Number.parseInt(fires, 10), name);
      assert.match(quiet.at, /^\d+m$/, name);
    }
  });

  for (const rule of alerts) {
    it(`lets ${rule.alert} fire, not fire and resolve as its cases say`, { skip }, async () => {
      const given = alertCases[rule.alert];
      assert.ok(given, 'no case');
      passes(await promtool.testRules([rule], testsOf(rule, given)));
    });
  }

  it('answers every query of the dashboard from what the roles serve', { skip }, async () => {
    const queries = dashboardQueries();
    assert.ok(queries.length > 30);
    passes(await promtool.testRules([], [queriesAnswer('dashboard', queries, everySeries())]));
  });

  it('answers every query that the docs print', { skip }, async () => {
    const queries = documentedQueries();
    assert.ok(queries.length > 5);
    passes(await promtool.testRules([], [queriesAnswer('docs', queries, everySeries())]));
  });
});
