import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { type JsonObject, valueAt } from '../../../../src/base/json.ts';
import { crdName } from '../../../../src/kinds/kind-names.ts';
import { allKinds, findKind } from '../../../../src/kinds/kinds.ts';
import { fieldRules, problemsOf } from '../../../../webhooks/policies/field-rules.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

interface Case {
  readonly kind: string;
  readonly spec: JsonObject;
  readonly problems: readonly string[];
}

const project: JsonObject = {
  description: 'd',
  owner: { owningTeam: '5e2c1b0e-0b57-4b0c-9d2e-6f6f0b1c2d3e' },
  tier: 1,
  gitRepo: 'g',
  rootDir: 'r',
};

const cases: readonly Case[] = [
  { kind: 'Project', spec: project, problems: [] },
  {
    kind: 'Project',
    spec: {},
    problems: [
      'spec.description: must not be empty',
      'spec.owner: must not be empty',
      'spec.gitRepo: must not be empty',
      'spec.rootDir: must not be empty',
      'spec.tier: must be from 1 to 5',
    ],
  },
  { kind: 'Project', spec: { ...project, tier: 6 }, problems: ['spec.tier: must be from 1 to 5'] },
  { kind: 'Project', spec: { ...project, tier: 5 }, problems: [] },
  {
    kind: 'Project',
    spec: { ...project, owner: { owningTeam: 'michelangelo' }, description: '' },
    problems: ['spec.description: must not be empty', 'spec.owner.owningTeam: must be a UUID'],
  },
  {
    kind: 'Project',
    spec: { ...project, commit: { gitRef: 'abc' } },
    problems: ['spec.commit.branch: must not be empty'],
  },
  { kind: 'ModelFamily', spec: { name: 'my-family_1' }, problems: [] },
  { kind: 'ModelFamily', spec: { name: '--' }, problems: ['spec.name: must match [a-zA-Z0-9][\\w-]*'] },
  { kind: 'ModelFamily', spec: { name: 'x'.repeat(41) }, problems: ['spec.name: must have at most 40 characters'] },
  { kind: 'PipelineRun', spec: { workspaceRootDir: '/a/b-c/' }, problems: [] },
  { kind: 'PipelineRun', spec: {}, problems: [] },
  {
    kind: 'PipelineRun',
    spec: { workspaceRootDir: 'a/b', resume: {} },
    problems: ['spec.workspaceRootDir: must match ^(/[\\w-]+)*/?$', 'spec.resume.pipelineRun: must not be empty'],
  },
  {
    kind: 'Pipeline',
    spec: { manifest: { triggerMap: { daily: { batchRerun: { pipelineRuns: [] } }, weekly: {} } } },
    problems: ['spec.manifest.triggerMap.daily.batchRerun.pipelineRuns: must not be empty'],
  },
  { kind: 'Cluster', spec: {}, problems: ['spec: must have one of kubernetes'] },
  { kind: 'Cluster', spec: { kubernetes: {} }, problems: [] },
  {
    kind: 'Deployment',
    spec: { inferenceServer: { name: 'a' }, strategy: {}, shadowSpec: { trafficPercentage: 101 } },
    problems: [
      'spec.strategy: must have one of zonal, blast, redBlack, rolling, disaggregated',
      'spec.shadowSpec.trafficPercentage: must be from 0 to 100',
    ],
  },
  {
    kind: 'Deployment',
    spec: {
      mobileSpec: {},
      strategy: { disaggregated: { steps: [{ subZonal: { increment: 10 } }, { subZonal: { increment: 41 } }] } },
    },
    problems: ['spec.strategy.disaggregated.steps.1.subZonal.increment: must be from 10 to 40'],
  },
  {
    kind: 'SparkJob',
    spec: { driver: { pod: { resource: { cpu: -1, gpu: 0 } } } },
    problems: ['spec.driver.pod.resource.cpu: must be at least 0'],
  },
];

const requestFor = (kind: string, spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  kind: { group: 'michelangelo.api', version: 'v2', kind },
  resource: { group: 'michelangelo.api', version: 'v2', resource: findKind(kind)?.plural ?? '' },
  object: { kind, apiVersion: 'michelangelo.api/v2', metadata: { name: 'a' }, spec },
  ...more,
});

describe('rule field-rules', () => {
  for (const { kind, spec, problems } of cases) {
    it(`${kind} ${JSON.stringify(spec).slice(0, 80)}: ${problems.join(', ') || 'nothing'}`, () =>
      assert.deepEqual(problemsOf({ spec }, findKind(kind)?.fieldRules ?? []), problems));
  }

  it('warns, refuses or says nothing by setting', async () => {
    const request = requestFor('Project', { ...project, tier: 9 });
    assertWarned(await verdictOf(fieldRules('warn'), request), /^spec\.tier: must be from 1 to 5$/);
    assertDenied(await verdictOf(fieldRules('deny'), request), /^spec\.tier: must be from 1 to 5; correct the object$/);
    assert.deepEqual(await verdictOf(fieldRules('off'), request), { allowed: true });
  });

  it('counts the further problems in a refusal', async () => {
    assertDenied(await verdictOf(fieldRules('deny'), requestFor('Project', {})), /\(and 4 more\); correct the object$/);
  });

  it('tells an update only the rules that the update itself breaks', async () => {
    const old = (spec: JsonObject): JsonObject => ({ operation: 'UPDATE', oldObject: { spec } });
    const rule = fieldRules('deny');
    const same = requestFor('Project', { ...project, tier: 9, gitRepo: 'other' }, old({ ...project, tier: 9 }));
    assert.deepEqual(await verdictOf(rule, same), { allowed: true });
    const broken = requestFor('Project', { ...project, tier: 9 }, old(project));
    assertDenied(await verdictOf(rule, broken), /spec\.tier/);
  });

  it('does not apply to deletes, status and kinds without rules', async () => {
    const rule = fieldRules('deny');
    const request = requestFor('Project', {});
    for (const change of [{ operation: 'DELETE' }, { subResource: 'status' }, requestFor('RayJob', {})]) {
      assert.deepEqual(await verdictOf(rule, { ...request, ...change }), { allowed: true });
    }
  });

  it('names fields that the CRDs have', () => {
    for (const kind of allKinds) {
      const folder = join(import.meta.dirname, '../../../../crds', kind.optional ? 'optional' : '.');
      const crd: unknown = parse(readFileSync(join(folder, `${crdName(kind)}.yaml`), 'utf8'));
      const [version] = valueAt(crd, ['spec', 'versions']) as [unknown];
      const schema = valueAt(version, ['schema', 'openAPIV3Schema']);
      const members = kind.fieldRules.flatMap((rule) =>
        rule.rule === 'one-of' ? rule.members.map((name) => [...rule.path, name]) : [],
      );
      for (const path of [
        ...kind.fieldRules.map((rule) => rule.path),
        ...members,
        ...kind.versionFields.map(({ path }) => path),
      ]) {
        assert.notEqual(schemaAt(schema, path), undefined, `${kind.kind} ${path.join('.')}`);
      }
    }
  });
});

function schemaAt(schema: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, step) => {
    if (step === '*') return valueAt(node, ['items']) ?? valueAt(node, ['additionalProperties']);
    return valueAt(node, ['properties', step]);
  }, schema);
}
