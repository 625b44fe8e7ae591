// No update takes the finalizer off or a mark away by accident, and what is meant happens.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import { type ApiAnswer, contentTypes, pathOf } from '../support/api-server.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useAdmission } from '../support/use-admission.ts';

const NS = 'updates';
const Model = kind('Model');
const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';

describe('updating objects on a real API server', () => {
  const admission = useAdmission();
  before(() => admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: NS } } }));

  const create = (name: string, metadata: object = {}, spec: object = {}): Promise<ApiAnswer['body']> => {
    const body = { ...aManifest('Model', NS, name, { spec }), metadata: { name, ...metadata } };
    return admission().api.must({ method: 'POST', path: pathOf(Model, NS), body });
  };
  const get = async (name: string) =>
    (await admission().api.must({ method: 'GET', path: pathOf(Model, NS, name) })).metadata;
  const patch = (name: string, body: unknown, as?: string): Promise<ApiAnswer> =>
    admission().api.call({
      method: 'PATCH',
      path: pathOf(Model, NS, name),
      body,
      contentType: Array.isArray(body) ? contentTypes.json : contentTypes.merge,
      ...(as === undefined ? {} : { as }),
    });
  const kubectl = (args: readonly string[], manifest: object) =>
    admission().controlPlane.kubectlRun([...args, '-f', '-'], { input: JSON.stringify(manifest) });

  it('19: puts our finalizer back when Git lists other finalizers and applies on the client, and keeps the others', async () => {
    const manifest = (finalizers: readonly string[]): object => ({
      ...aManifest('Model', NS, 'listed', { spec: {} }),
      metadata: { name: 'listed', namespace: NS, finalizers },
    });
    await kubectl(['apply'], manifest(['example.com/a']));
    await kubectl(['apply'], manifest(['example.com/a', 'example.com/b']));
    assert.deepEqual((await get('listed')).finalizers, ['example.com/a', 'example.com/b', FINALIZER]);
  });

  it('20: replace without finalizers and annotations gets our finalizer back, with both marks and a warning for each', async () => {
    const marks = { [DELETING_ANNOTATION]: 'true', [IMMUTABLE_ANNOTATION]: 'true' };
    await create('replaced');
    // The first question connects the webhook to the API server, which may take longer than a busy machine gives.
    await eventually(async () =>
      assert.equal((await patch('replaced', { metadata: { annotations: marks } })).status, 200),
    );
    const { stderr } = await kubectl(['replace'], aManifest('Model', NS, 'replaced', { spec: { algorithm: 'new' } }));
    const { finalizers, annotations } = await get('replaced');
    assert.deepEqual(finalizers, [FINALIZER]);
    assert.deepEqual(annotations, marks);
    assert.match(stderr, /Warning: michelangelo\/Deleting was kept.*\n.*michelangelo\/Immutable was kept/);
  });

  it('20: a mark that is patched away stays away, and so does one that is set to "false"', async () => {
    await create('unmarked');
    for (const value of [null, 'false']) {
      await patch('unmarked', { metadata: { annotations: { [DELETING_ANNOTATION]: 'true' } } });
      await patch('unmarked', { metadata: { annotations: { [DELETING_ANNOTATION]: value } } });
      assert.equal((await get('unmarked')).annotations?.[DELETING_ANNOTATION], value ?? undefined);
    }
    await kubectl(['replace'], aManifest('Model', NS, 'unmarked', { spec: {} }));
    assert.equal((await get('unmarked')).annotations, undefined);
  });

  it('20: a mark that was read and taken out by a full update stays away', async () => {
    await create('read');
    await patch('read', { metadata: { annotations: { [IMMUTABLE_ANNOTATION]: 'true' } } });
    const path = pathOf(Model, NS, 'read');
    const object = await admission().api.must({ method: 'GET', path });
    const body = { ...object, metadata: { ...object.metadata, annotations: {} } };
    await admission().api.must({ method: 'PUT', path, body });
    assert.equal((await get('read')).annotations, undefined);
  });

  it('21: a JSON patch that takes our finalizer off is undone for a user', async () => {
    await create('taken');
    const remove = [{ op: 'remove', path: '/metadata/finalizers/0' }];
    assert.equal((await patch('taken', remove)).status, 200);
    assert.deepEqual((await get('taken')).finalizers, [FINALIZER]);
  });

  it('21: the reconciler takes the finalizer off, and neither webhook is called', async () => {
    await create('without-finalizer');
    const before = [await admission().calls(), await admission().calls('/validate')];
    const remove = [{ op: 'remove', path: '/metadata/finalizers/0' }];
    assert.equal((await patch('without-finalizer', remove, RECONCILER)).status, 200);
    assert.equal((await get('without-finalizer')).finalizers, undefined);
    assert.deepEqual([await admission().calls(), await admission().calls('/validate')], before);
  });

  it('22: a merge patch with finalizers null gets our finalizer back', async () => {
    await create('null', { finalizers: ['example.com/a'] });
    await patch('null', { metadata: { finalizers: null } });
    assert.deepEqual((await get('null')).finalizers, [FINALIZER]);
  });

  it('23: writes of status, of labels and of the spec do not call the webhook', async () => {
    await create('quiet');
    const before = [await admission().calls(), await admission().calls('/validate')];
    const path = `${pathOf(Model, NS, 'quiet')}/status`;
    const object = await admission().api.must({ method: 'GET', path });
    await admission().api.must({ method: 'PUT', path, body: { ...object, status: {} } });
    await admission().api.must({ method: 'PATCH', path, body: { status: {} }, contentType: contentTypes.merge });
    await patch('quiet', { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } });
    await patch('quiet', { spec: { algorithm: 'another' } });
    assert.deepEqual([await admission().calls(), await admission().calls('/validate')], before);
  });

  it('23: warns of what the protobuf form cannot hold, on a create, an apply and a patch, and stores it', async () => {
    const TriggerRun = kind('TriggerRun');
    const timed = (interval: string) => {
      const spec = { trigger: { intervalSchedule: { interval } } };
      return aManifest('TriggerRun', NS, 'timed', { spec });
    };
    const warning =
      /Warning: spec\.trigger\.intervalSchedule\.interval: readers of the protobuf form .*; expected a duration such as 3\.5s/;
    assert.match((await kubectl(['create'], timed('5 minutes'))).stderr, warning);
    assert.doesNotMatch((await kubectl(['apply'], timed('5m'))).stderr, warning);
    assert.match((await kubectl(['apply'], timed('6 minutes'))).stderr, warning);
    const change = { spec: { trigger: { intervalSchedule: { interval: '7 minutes' } } } };
    const path = pathOf(TriggerRun, NS, 'timed');
    const patched = await admission().api.call({
      method: 'PATCH',
      path,
      body: change,
      contentType: contentTypes.merge,
    });
    assert.deepEqual([patched.status, patched.warnings.length], [200, 0], 'it brought nothing new');
    await admission().api.must({
      method: 'POST',
      path: pathOf(kind('Deployment'), NS),
      body: aManifest('Deployment', NS, 'shadowed'),
    });
    const shadow = { spec: { shadowSpec: { duration: 'a while' } } };
    const shadowed = pathOf(kind('Deployment'), NS, 'shadowed');
    const answer = await admission().api.call({
      method: 'PATCH',
      path: shadowed,
      body: shadow,
      contentType: contentTypes.merge,
    });
    assert.match(
      answer.warnings.join(),
      /spec\.shadowSpec\.duration: readers of the protobuf form .*; expected a duration/,
    );
  });

  it('24: 20 writers in conflict lose no finalizer and make no duplicate', async () => {
    await create('stormy');
    const path = pathOf(Model, NS, 'stormy');
    const writer = async (index: number): Promise<void> => {
      for (;;) {
        const { metadata } = await admission().api.must({ method: 'GET', path });
        const { resourceVersion } = metadata;
        const labels = { ...metadata.labels, [`writer-${index}`]: 'was-here' };
        const body = { ...aManifest('Model', NS, 'stormy'), metadata: { name: 'stormy', resourceVersion, labels } };
        const { status } = await admission().api.call({ method: 'PUT', path, body });
        if (status === 200) return;
        assert.equal(status, 409);
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, index) => writer(index)));
    const { finalizers, labels } = await get('stormy');
    assert.deepEqual(finalizers, [FINALIZER]);
    assert.equal(Object.keys(labels ?? {}).length, 20);
  });

  it('25: refuses a downgrade with 403 and one line, and permits it where its exact target is named', async () => {
    await create('versioned', {}, { revisionId: 7 });
    const answer = await patch('versioned', { spec: { revisionId: 6 } });
    assert.equal(answer.status, 403);
    assert.equal(answer.body.reason, 'Forbidden');
    assert.match(answer.body.message ?? '', /denied the request: spec\.revisionId 7 -> 6 is a downgrade; [^\n]+$/);
    const permit = (target: string) =>
      patch('versioned', {
        metadata: { annotations: { 'michelangelo/allow-downgrade': target } },
        spec: { revisionId: 6 },
      });
    assert.equal((await permit('5')).status, 403);
    assert.equal((await permit('6')).status, 200);
    assert.equal((await patch('versioned', { spec: { revisionId: 5 } })).status, 403);
    for (const revisionId of [6, 8]) assert.equal((await patch('versioned', { spec: { revisionId } })).status, 200);
    const unchanged = { metadata: { labels: { only: 'a-label' } } };
    assert.equal((await patch('versioned', unchanged)).status, 200);
  });

  it('25: lets a user update an object that is being deleted in any way', async () => {
    await create('leaving', { finalizers: ['example.com/a'] }, { revisionId: 7 });
    await admission().api.must({ method: 'DELETE', path: pathOf(Model, NS, 'leaving') });
    const before = [await admission().calls(), await admission().calls('/validate')];
    assert.equal((await patch('leaving', { spec: { revisionId: 1 } })).status, 200);
    assert.equal((await patch('leaving', { metadata: { finalizers: null } })).status, 200);
    assert.equal((await admission().api.call({ method: 'GET', path: pathOf(Model, NS, 'leaving') })).status, 404);
    assert.deepEqual([await admission().calls(), await admission().calls('/validate')], before);
  });
});
