import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { ADMISSION_RECORD_CONFIG_MAP, migratedEntry } from '../../../src/api/admission-record.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { findKind } from '../../../src/kinds/kinds.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { configMapRef } from '../../../src/kube/resources.ts';
import { MigrationRecord } from '../../../src/lifecycle/reconcile/migration-record.ts';
import { ConfigMapRecord } from '../../../src/sync/admission/lookups.ts';
import { RecordWriter } from '../../../src/sync/admission/record-writer.ts';
import { compareCrds } from '../../../webhooks/policies/crd-compare.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const namespace = 'ingester-system';
const recordRef = configMapRef(namespace, ADMISSION_RECORD_CONFIG_MAP);
const { signal } = new AbortController();
const kind = findKind('Model') ?? assert.fail('no such kind');
const crd = parse(
  readFileSync(join(import.meta.dirname, '../../../crds/models.michelangelo.api.yaml'), 'utf8'),
) as KubernetesObject & { readonly spec: JsonObject };

interface Rows {
  count: number;
  failure?: Error;
}

/** The ConfigMap, a CRD and a table, with those who write and read. */
function world() {
  const maps = new FakeKubeClient();
  const crds = new FakeKubeClient();
  maps.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('ingester-admission-record', 1) });
  const putCrd = (spec: JsonObject, generation: number, more: object = {}): unknown =>
    crds.put({ ...crd, spec, metadata: { ...meta('models.michelangelo.api', generation), ...more } });
  putCrd(crd.spec, 1);
  const rows: Rows = { count: 0 };
  const storage = {
    list: () =>
      rows.failure === undefined
        ? Promise.resolve({
            items: Array.from({ length: rows.count }, () => ({}) as never),
            continue: undefined,
            total: undefined,
          })
        : Promise.reject(rows.failure),
  };
  const client: Pick<KubeClient, 'list' | 'mergePatch'> = {
    list: (resource, options) => crds.list(resource, options),
    mergePatch: (ref, patch) => maps.mergePatch(ref, patch),
  };
  const logger = new RecordingLogger();
  const live = { objects: 0 };
  const kinds = [{ kind, objects: () => live.objects }];
  const writer = new RecordWriter({ client, storage, namespace, kinds, clock: new FakeClock(), logger });
  const record = new ConfigMapRecord({
    client: () => Promise.resolve(maps),
    namespace,
    clock: new FakeClock(),
    logger,
  });
  const rowsKnown = async (): Promise<unknown> => {
    const known = await record.crd('models', signal);
    return known.state === 'known' ? known.value.rows : known.state;
  };
  return { maps, crds, putCrd, rows, live, logger, writer, record, rowsKnown };
}

function meta(name: string, generation: number): KubernetesObject['metadata'] {
  return {
    namespace: name === 'ingester-admission-record' ? namespace : '',
    name,
    uid: 'a-uid',
    resourceVersion: '1',
    generation,
  };
}

describe('recording the CRD of a kind', () => {
  it('keeps a CRD that has every field of the shipped CRD, without its descriptions', async () => {
    const { writer, record } = world();
    await writer.write(signal);
    const known = await record.crd('models', signal);
    assert.ok(known.state === 'known');
    assert.deepEqual(compareCrds({ spec: crd.spec }, { spec: known.value.spec }), []);
    assert.deepEqual(compareCrds({ spec: known.value.spec }, { spec: crd.spec }), []);
    const described = {
      spec: { versions: [{ description: 'prose', properties: { description: { type: 'string' } } }] },
    };
    const { putCrd, writer: other, record: kept } = world();
    putCrd(described, 2);
    await other.write(signal);
    const found = await kept.crd('models', signal);
    assert.deepEqual(found.state === 'known' && found.value.spec, {
      spec: { versions: [{ properties: { description: { type: 'string' } } }] },
    });
  });

  it('records whether there are rows, by the objects and by the database', async () => {
    const { writer, rows, live, rowsKnown } = world();
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'none');
    live.objects = 1;
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'some');
    live.objects = 0;
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'none');
    rows.count = 1;
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'some');
  });

  it('writes and reads whole CRDs only where something changed', async () => {
    const { writer, maps, crds, putCrd } = world();
    await writer.write(signal);
    const [patches, lists] = [maps.calls.length, crds.calls.length];
    await writer.write(signal);
    assert.deepEqual([maps.calls.length, crds.calls.length], [patches, lists + 1]);
    putCrd({ ...crd.spec, scope: 'Cluster' }, 2);
    await writer.write(signal);
    assert.deepEqual([maps.calls.length, crds.calls.length], [patches + 1, lists + 3]);
  });

  it('keeps the last record of a CRD that is being deleted or gone', async () => {
    const { writer, record, crds, putCrd } = world();
    await writer.write(signal);
    const before = await record.crd('models', signal);
    putCrd({ scope: 'Cluster' }, 2, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    await writer.write(signal);
    assert.deepEqual(await record.crd('models', signal), before);
    crds.failures.push({ call: 'list', error: new KubeError('Unavailable', 'down') });
    await writer.write(signal);
    assert.deepEqual(await record.crd('models', signal), before);
  });

  it('keeps a record that it cannot renew, says so once, and renews it when it can', async () => {
    const { writer, rows, logger, rowsKnown } = world();
    rows.count = 1;
    await writer.write(signal);
    rows.failure = new KubeError('Unavailable', 'down');
    await writer.write(signal);
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'some');
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
    rows.count = 0;
    delete rows.failure;
    await writer.write(signal);
    assert.equal(await rowsKnown(), 'none');
  });
});

describe('recording the migrated version', () => {
  const main = { namespace, name: 'main' };

  it('writes a version once, and a version that it could not write with the next pass', async () => {
    const { maps, record, logger } = world();
    const migrated = new MigrationRecord({ client: maps, logger });
    await migrated.writeVersion(main, undefined);
    assert.deepEqual(maps.calls, []);
    maps.failures.push({ call: 'mergePatch', error: new KubeError('Unavailable', 'down') });
    await migrated.writeVersion(main, '1.4.0');
    assert.deepEqual(await record.migratedVersion(main, signal), { state: 'nothing' });
    await migrated.writeVersion(main, '1.4.0');
    await migrated.writeVersion(main, '1.4.0');
    assert.equal(maps.calls.filter((call) => call === 'mergePatch').length, 2);
    assert.deepEqual(await record.migratedVersion(main, signal), { state: 'known', value: '1.4.0' });
    assert.deepEqual(await record.migratedVersion({ ...main, name: 'other' }, signal), { state: 'nothing' });
  });
});

describe('reading the admission record', () => {
  it('finds no record where there is no ConfigMap, or an empty one', async () => {
    const { record, maps } = world();
    assert.deepEqual(await record.crd('models', signal), { state: 'nothing' });
    maps.failures.push({ call: 'get', error: new KubeError('NotFound', 'no such ConfigMap') });
    assert.deepEqual(await record.migratedVersion({ namespace, name: 'main' }, signal), { state: 'nothing' });
  });

  it('answers "unknown" where it may not read, where the answer comes too late, and where a user has edited the ConfigMap', async () => {
    const { record, maps, logger } = world();
    maps.failures.push({ call: 'get', error: new KubeError('Forbidden', 'no right') });
    assert.deepEqual(await record.crd('models', signal), { state: 'unknown' });
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
    const clock = new FakeClock();
    const never = new Promise<never>(() => undefined);
    const late = new ConfigMapRecord({ client: () => never, namespace, clock, logger }).crd('models', signal);
    await clock.advance(3500);
    assert.deepEqual(await late, { state: 'unknown' });
    await maps.mergePatch(recordRef, { data: { 'crd.models': '{"scope"', 'rows.models': 'none' } });
    assert.deepEqual(await record.crd('models', signal), { state: 'unknown' });
    await maps.mergePatch(recordRef, { data: { 'crd.models': '{}', 'rows.models': 'many' } });
    assert.deepEqual(await record.crd('models', signal), { state: 'known', value: { spec: {}, rows: 'unknown' } });
    await maps.mergePatch(recordRef, { data: migratedEntry({ namespace, name: 'a.b' }, '1.0.0') });
    assert.deepEqual(await record.migratedVersion({ namespace, name: 'a.b' }, signal), {
      state: 'known',
      value: '1.0.0',
    });
  });
});
