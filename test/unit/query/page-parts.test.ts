// What the page works out before it shows it.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { hashOf, listPath, nextOrder, parseAddress } from '../../../src/query/ui/lib/address.ts';
import { type ApiError, createApi } from '../../../src/query/ui/lib/api.ts';
import { refusalLines } from '../../../src/query/ui/lib/refusal.ts';
import { namedBy, referrersOf } from '../../../src/query/ui/lib/relations.ts';
import { duration } from '../../../src/query/ui/lib/time.ts';
import { moments } from '../../../src/query/ui/lib/timeline.ts';
import { toYaml, yamlLines } from '../../../src/query/ui/lib/yaml.ts';

describe('the parts of the page', () => {
  it('keeps what is looked at in the address', () => {
    const query = new URLSearchParams({ uid: 'a/b' });
    const { plural, namespace, name, query: read } = parseAddress(hashOf(['models', 'ml', 'a b/c'], query));
    assert.deepEqual([plural, namespace, name, read.get('uid')], ['models', 'ml', 'a b/c', 'a/b']);
  });

  it('survives an address that is no encoding', () => {
    assert.equal(parseAddress('#/models/%zz').namespace, '%zz');
  });

  it('asks for what a name begins with, and leaves out filters that are empty', () => {
    const query = new URLSearchParams({ name: 'm*', namespace: 'ml', labelSelector: ' ' });
    assert.equal(listPath('models', query, 50), '/namespaces/ml/models?namePrefix=m&limit=50');
  });

  it('orders up, down, and then as the API does', () => {
    assert.deepEqual([nextOrder(null, 'a'), nextOrder('a', 'a'), nextOrder('-a', 'a')], ['a', '-a', undefined]);
  });

  it('says where a write can be made that something before the API refused', async () => {
    const metadata = { namespace: 'ml', name: 'm1', uid: 'u1' };
    const answered = async (body: string): Promise<readonly string[]> => {
      const fetched = mock.method(globalThis, 'fetch', () => Promise.resolve(new Response(body, { status: 403 })));
      const refused: unknown = await createApi('/', () => ({}))('/x', { method: 'POST' }).catch(
        (error: unknown) => error,
      );
      fetched.mock.restore();
      return refusalLines(refused as ApiError, { action: 'restore', plural: 'models', metadata });
    };
    assert.deepEqual(await answered('{"message":"not you"}'), ['not you']);
    const [, , command] = await answered('Forbidden');
    assert.equal(command, 'kubectl ingester restore models m1 -n ml --uid u1');
  });

  it('keeps every digit of an integer', () => {
    assert.equal(
      toYaml('{"spec":{"id":9007199254740993},"kind":"Model"}'),
      'kind: Model\nspec:\n  id: 9007199254740993\n',
    );
  });

  it('keeps text on as many lines as it has', () => {
    assert.equal(toYaml('{"a":"x\\u0001\\ny","b":"1\\n2\\n"}').split('\n').length, 5);
  });

  it('folds what is below a key, and colours the text of a block as text', () => {
    const lines = yamlLines('spec:\n  note: |\n    a: 1\n\n    b\n  count: 2\n');
    assert.deepEqual(
      lines.map(({ until }) => until),
      [6, 5, undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(lines[2]?.parts, [['text', '    a: 1']]);
    assert.deepEqual(lines[5]?.parts, [
      ['mark', '  '],
      ['key', 'count:'],
      ['number', ' 2'],
    ]);
  });

  const kinds = [
    { kind: 'Pipeline', plural: 'pipelines', fields: [] },
    {
      kind: 'PipelineRun',
      plural: 'pipelineruns',
      fields: ['metadata.namespace', 'spec.pipeline.name', 'spec.pipeline.namespace'],
    },
  ];

  it('takes the longest kind that a field ends with', () => {
    const metadata = { namespace: 'ml', name: 'm1', uid: 'u' };
    const spec = { sourcePipelineRun: { namespace: 'ml', name: 'r1' } };
    const [relation] = namedBy({ kind: 'Model', metadata, spec }, kinds);
    assert.equal(relation?.plural, 'pipelineruns');
  });

  it('asks the kinds whose indexed fields name this one', () => {
    const metadata = { namespace: 'ml', name: 'p1', uid: 'u' };
    const asked = referrersOf({ kind: 'Pipeline', metadata }, kinds).map(({ query }) => query.get('fieldSelector'));
    assert.deepEqual(asked, ['spec.pipeline.namespace=ml,spec.pipeline.name=p1']);
  });

  it('tells what happened in its order', () => {
    const metadata = { namespace: 'ml', name: 'r', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
    const status = { endTime: '2026-01-01T01:00:00Z', state: 'PIPELINE_RUN_STATE_FAILED' };
    assert.deepEqual(
      moments({ kind: 'PipelineRun', metadata, status }).map(({ what, tone }) => [what, tone]),
      [
        ['Created', 'quiet'],
        ['Ended: failed', 'bad'],
      ],
    );
    const evicted = (mark: object): readonly string[] => {
      const annotations = { ...mark, 'stored.michelangelo.api/evict-time': '2026-01-02T00:00:00Z' };
      return moments({ kind: 'PipelineRun', metadata: { ...metadata, annotations } }).map(({ what }) => what);
    };
    assert.equal(evicted({})[1], 'Evicted: left etcd, kept in MySQL');
    assert.match(evicted({ 'michelangelo/Immutable': 'true' })[1] ?? '', /^Evicted, as a client marked it: left etcd/);
  });

  it('says durations with two units where the first is small', () => {
    assert.deepEqual([0, 65, 7500, 864_000].map(duration), ['0 s', '1 min 5 s', '2 h 5 min', '10 d']);
  });
});
