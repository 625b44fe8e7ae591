// top and tree of the plugin.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredCall } from '../../../src/app/commands/stored-objects.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { topKinds, topText } from '../../../src/cli/kubectl/top.ts';
import { type Leaf, treeOf, treeText } from '../../../src/cli/kubectl/tree.ts';
import { KubeError } from '../../../src/kube/errors.ts';

const now = new Date('2026-01-02T00:00:00Z');

/** Answers by path and, of a list, by its field selector. */
class Answers {
  readonly asked: StoredCall[] = [];
  readonly #answers: Readonly<Record<string, JsonObject>>;

  constructor(answers: Readonly<Record<string, JsonObject>>) {
    this.#answers = answers;
  }

  call(call: StoredCall): Promise<JsonObject> {
    this.asked.push(call);
    const { fieldSelector = '' } = call.query ?? {};
    const answer = this.#answers[`${call.path} ${fieldSelector}`.trim()];
    if (answer === undefined && fieldSelector.startsWith('metadata.ownerReferences'))
      return Promise.resolve({ items: [] });
    if (answer !== undefined) return Promise.resolve(answer);
    return Promise.reject(new KubeError(call.path.includes('secret') ? 'Forbidden' : 'NotFound', call.path));
  }
}

describe('top', () => {
  const summary = {
    items: [
      { kind: 'Model', plural: 'models', counts: { live: 2, evicted: 5, deleted: 1 } },
      { kind: 'Pipeline', plural: 'pipelines', counts: { live: 9, evicted: 0, deleted: 0 } },
      { kind: 'RayJob', plural: 'rayjobs', counts: { live: 0, evicted: 0, deleted: 0 } },
    ],
  };

  it('has the rows of each kind that has any, and what a day brought', async () => {
    const answers = new Answers({
      '/summary': summary,
      '/models/-/aggregate': { items: [{ group: {}, count: 3 }] },
      '/pipelines/-/aggregate': { items: [] },
    });
    const kinds = await topKinds(answers, now);
    assert.deepEqual(
      answers.asked.slice(1, 3).map(({ query }) => query),
      [
        { source: 'all', createdAfter: '2026-01-01T00:00:00.000Z' },
        { source: 'all', updatedAfter: '2026-01-01T00:00:00.000Z' },
      ],
    );
    assert.equal(answers.asked.length, 5, 'an empty kind is not counted');
    assert.equal(
      topText(kinds, 'heads'),
      'KIND       ROWS   LIVE   EVICTED   DELETED   CREATED   CHANGED\n' +
        'Model      8      2      5         1         3         3\n' +
        'Pipeline   9      9      0         0         0         0\n',
    );
    assert.equal(topText([], 'heads'), '');
  });
});

describe('tree', () => {
  const stored = (kind: string, name: string, more: JsonObject = {}, state = 'live'): JsonObject => ({
    kind,
    metadata: {
      ...{ namespace: 'ml', name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
      annotations: { 'stored.michelangelo.api/state': state },
      ...(more['metadata'] as JsonObject | undefined),
    },
    ...(more['spec'] === undefined ? {} : { spec: more['spec'] }),
  });
  const reference = (...path: readonly string[]) => path.map((name) => `spec.${name}`);
  const none = { live: 0, evicted: 0, deleted: 0 };
  const kinds = {
    items: [
      { kind: 'Pipeline', plural: 'pipelines', fields: [], counts: none },
      { kind: 'Secret', plural: 'secrets', fields: [], counts: none },
      {
        ...{ kind: 'PipelineRun', plural: 'pipelineruns', counts: { ...none, live: 2 } },
        fields: reference('pipeline.namespace', 'pipeline.name'),
      },
      {
        ...{ kind: 'Model', plural: 'models', counts: { ...none, deleted: 1 } },
        fields: reference('sourcePipelineRun.namespace', 'sourcePipelineRun.name'),
      },
    ],
  };
  const spec = {
    pipeline: { namespace: 'ml', name: 'train' },
    revision: { namespace: 'ml', name: 'train-1' },
    secret: { namespace: 'ml', name: 's' },
  };
  const run = stored('PipelineRun', 'r1', {
    spec,
    metadata: { ownerReferences: [{ kind: 'Pipeline', name: 'gone' }] },
  });
  const answers = () =>
    new Answers({
      '/summary': kinds,
      '/namespaces/ml/pipelines/train': stored('Pipeline', 'train'),
      '/models spec.sourcePipelineRun.namespace=ml,spec.sourcePipelineRun.name=r1': {
        metadata: { continue: 'more' },
        items: [stored('Model', 'm1', {}, 'evicted'), stored('Model', 'm2', {}, 'deleted')],
      },
    });

  it('has what an object names, stored or not, and what names it', async () => {
    const tree = await treeOf(answers(), run, 2);
    assert.equal(
      treeText(tree, 'plain', now),
      [
        'NAMESPACE   NAME                 RELATION                             WHERE            AGE',
        'ml          PipelineRun/r1                                            etcd and MySQL   24h',
        'ml          ├─Pipeline/train     named in spec.pipeline               etcd and MySQL   24h',
        'ml          ├─revision/train-1   named in spec.revision               unknown',
        'ml          ├─Secret/s           named in spec.secret                 forbidden',
        'ml          ├─Pipeline/gone      its owner                            not stored',
        'ml          ├─Model/m1           names it in spec.sourcePipelineRun   MySQL            24h',
        'ml          ├─Model/m2           names it in spec.sourcePipelineRun   deleted          24h',
        '            └─… and more',
        '',
      ].join('\n'),
    );
  });

  it('follows what names it as deep as it is asked to, and has nothing twice', async () => {
    const runs = (name: string): string => `/pipelineruns spec.pipeline.namespace=ml,spec.pipeline.name=${name}`;
    const models = '/models spec.sourcePipelineRun.namespace=ml,spec.sourcePipelineRun.name=r1';
    const deep = new Answers({
      '/summary': kinds,
      [runs('train')]: { metadata: {}, items: [run] },
      [models]: { metadata: {}, items: [stored('Model', 'm1')] },
    });
    const pipeline = stored('Pipeline', 'train');
    const names = ({ name, children }: Leaf): unknown => [name, ...children.map(names)];
    assert.deepEqual(names(await treeOf(deep, pipeline, 1)), ['train', ['r1']]);
    assert.deepEqual(names(await treeOf(deep, pipeline, 2)), ['train', ['r1', ['m1']]]);
    const twice = new Answers({
      '/summary': kinds,
      [runs('train')]: { metadata: {}, items: [run, run] },
      [models]: { metadata: {}, items: [] },
    });
    assert.deepEqual(names(await treeOf(twice, pipeline, 2)), ['train', ['r1']]);
  });

  it('has what the object owns, of every kind that has objects, wherever they are stored', async () => {
    const owning = new Answers({
      '/summary': kinds,
      '/models metadata.ownerReferences.uid=r1': { items: [stored('Model', 'm1', {}, 'evicted')] },
      '/models spec.sourcePipelineRun.namespace=ml,spec.sourcePipelineRun.name=r1': { items: [] },
    });
    const tree = await treeOf(owning, stored('PipelineRun', 'r1'), 1);
    assert.equal(
      treeText(tree, 'plain', now),
      [
        'NAMESPACE   NAME             RELATION     WHERE            AGE',
        'ml          PipelineRun/r1                etcd and MySQL   24h',
        'ml          └─Model/m1       it owns it   MySQL            24h',
        '',
      ].join('\n'),
    );
    const owned = owning.asked.filter(({ query }) => query?.['fieldSelector'] === 'metadata.ownerReferences.uid=r1');
    assert.deepEqual(
      owned.map(({ path, query }) => [path, query?.['source'], query?.['limit']]),
      [
        ['/pipelineruns', 'all', '10'],
        ['/models', 'all', '10'],
      ],
    );
  });

  it('is bounded', async () => {
    const many = { metadata: {}, items: Array.from({ length: 300 }, (_, index) => stored('PipelineRun', `r${index}`)) };
    const wide = new Answers({
      '/summary': kinds,
      '/pipelineruns spec.pipeline.namespace=ml,spec.pipeline.name=train': many,
    });
    const tree = await treeOf(wide, stored('Pipeline', 'train'), 1);
    assert.equal(tree.children.length, 199);
    assert.equal(tree.more, true);
    assert.equal(wide.asked[1]?.query?.['limit'], '10');
  });

  it('does not take an outage for something that is not stored', async () => {
    const away = answers();
    const call = away.call.bind(away);
    away.call = (one) =>
      one.path.endsWith('/train') ? Promise.reject(new KubeError('Unavailable', 'away')) : call(one);
    await assert.rejects(treeOf(away, run, 1), { reason: 'Unavailable' });
  });
});
