import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { type EvictionRuleOptions, rulesFor } from '../../../src/sync/eviction/eviction-rules.ts';
import { ChosenObjects, scan } from '../../../src/sync/eviction/eviction-scan.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { deleting, immutable, kindNamed } from '../../support/objects.ts';

const PipelineRun = kindNamed('PipelineRun');
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'pipelineruns' };
const SUCCEEDED = 'PIPELINE_RUN_STATE_SUCCEEDED';

/** Ended so many minutes before now; undefined still runs. */
function aRun(
  name: string,
  endedMinutesAgo: number | undefined,
  more: { metadata?: Partial<ObjectMeta>; spec?: JsonObject } = {},
): KubernetesObject {
  const end = new Date(Date.UTC(2026, 0, 1) - (endedMinutesAgo ?? 0) * 60_000).toISOString();
  const status =
    endedMinutesAgo === undefined ? { state: 'PIPELINE_RUN_STATE_RUNNING' } : { state: SUCCEEDED, endTime: end };
  const metadata = { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '', ...more.metadata };
  const spec = { pipeline: { namespace: 'ns', name: 'p' }, ...more.spec };
  return { apiVersion: 'michelangelo.api/v2', kind: 'PipelineRun', metadata, spec, status };
}

async function chosen(rule: Partial<EvictionRuleOptions>, objects: readonly KubernetesObject[]) {
  const client = new FakeKubeClient();
  for (const object of objects) client.put(object);
  const rules = rulesFor(PipelineRun, [{ name: 'r', kinds: ['PipelineRun'], ...rule }]);
  const found = await scan({ client, resource, rules, clock: new FakeClock() }, new AbortController().signal);
  return found.map(({ name }) => name).sort();
}

describe('eviction rules', () => {
  it('finishedFor chooses what ended long enough ago, and never what runs', async () => {
    const objects = [aRun('old', 61), aRun('edge', 60), aRun('new', 59), aRun('running', undefined)];
    assert.deepEqual(await chosen({ finishedFor: 3_600_000 }, objects), ['edge', 'old']);
  });

  it('finishedFor does not choose a finished run that does not say when it ended', async () => {
    const silent = aRun('silent', 100);
    assert.deepEqual(await chosen({ finishedFor: 1 }, [{ ...silent, status: { state: SUCCEEDED } }]), []);
  });

  it('keepLast keeps the newest finished of each pipeline, whatever else runs', async () => {
    const other = { spec: { pipeline: { namespace: 'ns', name: 'q' } } };
    const objects = [aRun('a1', 30), aRun('a2', 20), aRun('a3', 10), aRun('a4', undefined), aRun('b1', 99, other)];
    assert.deepEqual(await chosen({ keepLast: 2 }, objects), ['a1']);
  });

  it('keepLast counts by the controller of an object where it has one', async () => {
    const of = (uid: string) => ({ metadata: { ownerReferences: [{ uid, controller: true }] } });
    const objects = [aRun('a', 30, of('1')), aRun('b', 20, of('2')), aRun('c', 10, of('1'))];
    assert.deepEqual(await chosen({ keepLast: 1 }, objects), ['a']);
  });

  it('needs all conditions of a rule: the newest stay however old they are', async () => {
    const objects = [aRun('oldest', 300), aRun('older', 200), aRun('young', 1)];
    assert.deepEqual(await chosen({ keepLast: 1, finishedFor: 3_600_000 }, objects), ['older', 'oldest']);
    assert.deepEqual(await chosen({ keepLast: 2, finishedFor: 3_600_000 }, objects), ['oldest']);
  });

  it('when chooses by a CEL expression, and not where it cannot be decided', async () => {
    const objects = [aRun('yes', 1, { spec: { tier: 3 } }), aRun('no', 1, { spec: { tier: 1 } }), aRun('missing', 1)];
    assert.deepEqual(await chosen({ when: 'object.spec.tier > 2' }, objects), ['yes']);
    assert.deepEqual(await chosen({ when: "now - timestamp(object.status.endTime) > duration('1h')" }, objects), []);
  });

  it('leaves alone objects that are deleted, marked or owned by GitOps', async () => {
    const objects = [
      aRun('marked', 9, { metadata: { annotations: deleting } }),
      aRun('immutable', 9, { metadata: { annotations: immutable } }),
      aRun('owned', 9, { metadata: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'x' } } }),
      aRun('deleted', 9, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['f'] } }),
      aRun('free', 9),
    ];
    assert.deepEqual(await chosen({ finishedFor: 0 }, objects), ['free']);
  });

  it('looks at every page', async () => {
    const objects = Array.from({ length: 1100 }, (_, index) => aRun(`run-${index}`, index));
    assert.equal((await chosen({ keepLast: 100 }, objects)).length, 1000);
  });

  it('holds a choice only for the state that was looked at', () => {
    const remembered = new ChosenObjects();
    const run = aRun('a', 1, { metadata: { resourceVersion: '7' } });
    remembered.replace([{ namespace: 'ns', name: 'a', uid: 'uid-a', resourceVersion: '7', rule: 'r' }]);
    assert.equal(remembered.ruleFor(run), 'r');
    assert.equal(remembered.ruleFor(aRun('a', 1, { metadata: { resourceVersion: '8' } })), undefined);
    assert.equal(remembered.ruleFor(aRun('a', 1, { metadata: { resourceVersion: '7', uid: 'again' } })), undefined);
  });

  it('calls an eviction withdrawn that was requested in exactly this state and is chosen no more', () => {
    const remembered = new ChosenObjects();
    const [kept, freed] = ['a', 'b'].map((name) => ({
      namespace: 'ns',
      name,
      uid: `uid-${name}`,
      resourceVersion: '7',
    }));
    assert.ok(kept !== undefined && freed !== undefined);
    remembered.replace([{ ...kept, rule: 'r' }], [kept, freed]);
    assert.deepEqual([remembered.keys(), remembered.withdrawnKeys()], [['ns/a'], ['ns/b']]);
    const withdrawn = (name: string, resourceVersion: string) =>
      remembered.isWithdrawn(aRun(name, 1, { metadata: { resourceVersion } }));
    assert.deepEqual([withdrawn('a', '7'), withdrawn('b', '7'), withdrawn('b', '8')], [false, true, false]);
    remembered.replace([]);
    assert.equal(withdrawn('b', '7'), false);
  });
});
