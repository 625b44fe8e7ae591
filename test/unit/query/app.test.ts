import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { StorageAccessDeniedError, StorageUnavailableError } from '../../../src/storage/errors.ts';
import { aModelRow, kindNamed, modelKind } from '../../support/objects.ts';
import { base, fill, type Listed, namesIn, queryApp } from '../../support/query-app.ts';

const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const at = new Date('2026-01-01T00:00:00Z');
const setUp = (allowed?: readonly string[]) => queryApp(allowed === undefined ? {} : { allowed });

describe('a list of stored objects', () => {
  it('has the live and the evicted ones, newest first', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const { status, body } = await get('/models');
    assert.equal(status, 200);
    assert.equal((body as Listed).kind, 'ModelList');
    assert.deepEqual(namesIn(body), ['m3', 'm2', 'm1']);
  });

  for (const [source, names] of [
    ['live', ['m3', 'm1']],
    ['evicted', ['m2']],
    ['deleted', ['m4']],
    ['all', ['m4', 'm3', 'm2', 'm1']],
  ] as const) {
    it(`has ${names.join(' and ')} with source=${source}`, async () => {
      const { storage, get } = setUp();
      await fill(storage);
      assert.deepEqual(namesIn((await get(`/models?source=${source}`)).body), names);
    });
  }

  it('keeps to the namespaces that the user may list', async () => {
    const { storage, get } = setUp(['b']);
    await fill(storage);
    assert.deepEqual(namesIn((await get('/models')).body), ['m3']);
    assert.equal((await get('/namespaces/a/models')).status, 403);
  });

  it('comes in pages that neither repeat nor leave out anything', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const first = (await get('/models?limit=2&count=true')).body as Listed;
    assert.equal(first.metadata.remainingItemCount, 1);
    const second = (await get(`/models?limit=2&continue=${first.metadata.continue}`)).body as Listed;
    assert.deepEqual([...namesIn(first), ...namesIn(second)], ['m3', 'm2', 'm1']);
    assert.equal(second.metadata.continue, undefined);
  });

  it('reads large objects few at a time', async () => {
    const { storage, get } = setUp();
    const names = ['m1', 'm2', 'm3', 'm4', 'm5'];
    for (const name of names) await storage.upsert(aModelRow({ uid: name, name }, { text: 'x'.repeat(400 * 1024) }));
    const read: number[] = [];
    const list = storage.list.bind(storage);
    storage.list = async (kind, query) => {
      const page = await list(kind, query);
      read.push(page.items.length);
      return page;
    };
    assert.deepEqual(namesIn((await get('/models')).body).toSorted(), names);
    assert.deepEqual(read, [2, 2, 1]);
  });

  it('is a Table with the columns of the kind for kubectl', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const { body } = await get('/models', tableType);
    const { kind, columnDefinitions, rows } = body as {
      kind: string;
      columnDefinitions: { name: string; priority: number }[];
      rows: { cells: unknown[]; object: { kind: string } }[];
    };
    assert.equal(kind, 'Table');
    assert.deepEqual(
      columnDefinitions.map(({ name }) => name),
      ['Name', 'Algorithm', 'Revision', 'Owner', 'Where', 'Age', 'UID', 'Stored'],
    );
    assert.deepEqual(
      rows.map(({ cells }) => [cells[0], cells[4]]),
      [
        ['m3', 'etcd and MySQL'],
        ['m2', 'MySQL'],
        ['m1', 'etcd and MySQL'],
      ],
    );
    assert.equal(rows[0]?.object.kind, 'PartialObjectMetadata');
  });

  it('says of an object that was restored that it was, until it is deleted again', async () => {
    const { storage, get } = setUp();
    const annotations = { 'michelangelo/RestoredFrom': 'uid-of-before' };
    const again = aModelRow({ uid: 'uid-of-again', name: 'again', annotations });
    await storage.upsert(again);
    const { rows } = (await get('/models', tableType)).body as { rows: { cells: unknown[] }[] };
    assert.equal(rows[0]?.cells[4], 'etcd and MySQL, restored');
    await storage.finish(again, new Date());
    const later = (await get('/models?source=deleted', tableType)).body as { rows: { cells: unknown[] }[] };
    assert.equal(later.rows[0]?.cells[4], 'deleted');
  });

  it('does not tell users of MySQL as whom, and where, it is asked', async () => {
    const { storage, get } = setUp();
    const refused = "ER_ACCESS_DENIED_ERROR 1045, for user 'ingester'@'10.0.0.7'";
    storage.list = () => Promise.reject(new StorageAccessDeniedError(refused));
    const { status, body } = await get('/models');
    assert.equal(status, 503);
    assert.match(JSON.stringify(body), /MySQL is not available; repeat the call/);
    assert.doesNotMatch(JSON.stringify(body), /10\.0\.0\.7/);
  });

  it('is a Status 503 with Retry-After while the database is away, never an empty list', async () => {
    const { storage, get } = setUp();
    storage.list = () => Promise.reject(new StorageUnavailableError('no answer', undefined));
    const answer = await get('/models');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '1');
    assert.equal((answer.body as { reason: string }).reason, 'ServiceUnavailable');
  });

  it('is cut, not ended, where the database goes away in the middle', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const list = storage.list.bind(storage);
    let pages = 0;
    storage.list = async (kind, query) => {
      pages += 1;
      if (pages > 1) throw new StorageUnavailableError('no answer', undefined);
      const page = await list(kind, { ...query, limit: 1 });
      // Enough for the head of the answer to be sent.
      return {
        ...page,
        items: page.items.map((item) => ({ ...item, json: item.json.replace('xgboost', 'x'.repeat(100_000)) })),
      };
    };
    await assert.rejects(get('/models'), /aborted|socket hang up/);
  });

  it('has the names with a prefix, whatever a pattern would make of it', async () => {
    const { storage, get, post } = setUp();
    await fill(storage);
    for (const name of ['m-1', 'n1']) await storage.upsert(aModelRow({ uid: name, name }));
    assert.deepEqual(namesIn((await get('/models?namePrefix=m-')).body), ['m-1']);
    assert.deepEqual(namesIn((await get('/models?namePrefix=m&orderBy=metadata.name')).body), [
      'm-1',
      'm1',
      'm2',
      'm3',
    ]);
    for (const none of ['1', '%25', 'm_', '_', '%5C', 'm1%25']) {
      assert.deepEqual(namesIn((await get(`/models?namePrefix=${none}`)).body), [], none);
    }
    assert.deepEqual(namesIn((await post('/models/-/search', { namePrefix: 'n' })).body), ['n1']);
    assert.match(JSON.stringify((await get('/models/-/aggregate?namePrefix=m')).body), /"count":4/);
  });

  it('has the objects of which an expression holds, in lists, searches and counts', async () => {
    const { storage, get, post } = setUp();
    await fill(storage);
    const where = 'metadata.name in ["m1", "m3"] || spec.algorithm == null';
    const asked = encodeURIComponent(where);
    assert.deepEqual(namesIn((await get(`/models?orderBy=metadata.name&where=${asked}`)).body), ['m1', 'm3']);
    assert.deepEqual([...namesIn((await post('/models/-/search', { where })).body)].sort(), ['m1', 'm3']);
    assert.match(JSON.stringify((await get(`/models/-/aggregate?where=${asked}`)).body), /"count":2/);
    assert.equal((await get('/models?where=spec.algorithm%20%3D%3D')).status, 400);
    assert.equal((await post('/models/-/search', { where: 'spec.steps == 1' })).status, 400);
  });

  it('has what an owner owns and what an annotation says, in lists, searches and counts', async () => {
    const { storage, get, post } = setUp();
    await fill(storage);
    const ownerReferences = [{ apiVersion: 'michelangelo.api/v2', kind: 'Pipeline', name: 'train', uid: 'p1' }];
    const annotations = { note: 'a, b' };
    await storage.upsert(aModelRow({ uid: 'owned', name: 'owned', ownerReferences, annotations }));
    const note = encodeURIComponent('note="a, b"');
    for (const asked of [
      'fieldSelector=metadata.ownerReferences.uid%3Dp1',
      'fieldSelector=metadata.ownerReferences%3DPipeline/train',
      `annotationSelector=${note}`,
    ]) {
      assert.deepEqual(namesIn((await get(`/models?${asked}`)).body), ['owned'], asked);
      assert.match(JSON.stringify((await get(`/models/-/aggregate?${asked}`)).body), /"count":1\b/, asked);
    }
    const criterion = { fieldName: 'metadata.ownerReferences.uid', operator: 'CRITERION_OPERATOR_EQUAL' };
    for (const body of [
      { fieldSelector: 'metadata.ownerReferences.uid=p1', annotationSelector: 'note' },
      { operation: { criterion: [{ ...criterion, matchValue: 'p1' }] } },
    ]) {
      assert.deepEqual(namesIn((await post('/models/-/search', body)).body), ['owned']);
    }
    assert.ok(!namesIn((await get('/models?annotationSelector=!note')).body).includes('owned'));
    const watched = await get('/models?watch=true&fieldSelector=metadata.ownerReferences.uid%3Dp1');
    assert.deepEqual([watched.status, watched.text.includes('a watch selects by labels')], [400, true]);
  });

  it('refuses unknown parameters, with all problems at once', async () => {
    const { get } = setUp();
    const { status, body } = await get('/models?bogus=1&source=x');
    assert.equal(status, 400);
    assert.match((body as { message: string }).message, /bogus.*source is one of/);
  });

  it('refuses a field without a column and names those that have one', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const { status, body } = await get('/models?fieldSelector=spec.secret%3Dx');
    assert.equal(status, 400);
    assert.match((body as { message: string }).message, /spec\.secret.*spec\.algorithm/);
  });

  it('waits for the asked resourceVersion, and says how far the store is when the time is over', async () => {
    const { storage, get } = setUp();
    await storage.recordPosition(modelKind, { resourceVersion: '50', at });
    assert.equal((await get('/models?minResourceVersion=50')).status, 200);
  });
});

describe('one stored object', () => {
  it('is returned as it was stored, under the stored group, with the place where it is', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    const { body } = await get('/namespaces/a/models/m1');
    const { apiVersion, kind, metadata, spec } = body as Record<string, Record<string, unknown>>;
    assert.deepEqual(
      [apiVersion, kind, spec],
      ['stored.michelangelo.api/v2', 'Model', { algorithm: 'xgboost', owner: { name: 'ada' } }],
    );
    assert.equal((metadata?.['annotations'] as Record<string, string>)['stored.michelangelo.api/state'], 'live');
  });

  it('does not look like being deleted when it was evicted', async () => {
    const { storage, get } = setUp();
    const row = aModelRow({ deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 });
    await storage.requestEviction(row, at);
    await storage.finish(row, at);
    const { body } = await get('/namespaces/a-namespace/models/a-model');
    const { metadata } = body as { metadata: Record<string, unknown> };
    for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'finalizers'])
      assert.ok(!(field in metadata), field);
  });

  it('keeps integers beyond 2^53', async () => {
    const { storage, get } = setUp();
    const row = aModelRow();
    await storage.upsert({ ...row, json: row.json.replace('"xgboost"', '9007199254740993') });
    assert.match((await get('/namespaces/a-namespace/models/a-model')).text, /"algorithm":9007199254740993[,}]/);
  });

  it('never shows a sensitive value, also where a row has it in the clear', async () => {
    const { storage, get } = setUp();
    const kind = kindNamed('SparkJob');
    const [path = []] = kind.sensitive;
    const json = (value: string): string => {
      const content = path.toReversed().reduce<unknown>((inner, step) => ({ [step]: inner }), value);
      return JSON.stringify({ kind: 'SparkJob', ...(content as object), metadata: { name: 'a-model' } });
    };
    await storage.upsert({ ...aModelRow(), kind, json: json('in-the-clear') });
    for (const accept of ['application/json', tableType]) {
      const { status, text } = await get('/namespaces/a-namespace/sparkjobs?includeObject=Object', accept);
      assert.equal(status, 200);
      assert.ok(text.includes('[redacted]') && !text.includes('in-the-clear'), text);
    }
  });

  it('is not found by the uid of another name', async () => {
    const { storage, get } = setUp();
    await fill(storage);
    assert.equal((await get('/namespaces/a/models/m1?uid=uid-1')).status, 200);
    assert.equal((await get('/namespaces/a/models/m1?uid=uid-3')).status, 404);
  });

  it('is 404 with a Status where no such object is stored', async () => {
    const { status, body } = await setUp().get('/namespaces/a/models/none');
    assert.equal(status, 404);
    assert.equal((body as { message: string }).message, 'models.stored.michelangelo.api "none" not found');
  });

  it('cannot be created or replaced', async () => {
    const { app } = setUp();
    for (const method of ['put', 'post'] as const) {
      const { status } = await request(app)[method](`${base}/namespaces/a/models/m1`).send({});
      assert.equal(status, 405, method);
    }
  });
});

describe('the change feed', () => {
  it('refuses a text that is not a cursor', async () => {
    assert.equal((await setUp().get('/models/-/changes?since=abc')).status, 400);
  });
});

describe('the service', () => {
  it('answers 429 where too many requests come at once', async () => {
    const { storage, get } = setUp();
    const held = Promise.withResolvers<undefined>();
    const list = storage.list.bind(storage);
    storage.list = async (kind, query) => {
      await held.promise;
      return list(kind, query);
    };
    const slow = [get('/models'), get('/models')].map((call) => call.then(({ status }) => status));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { status, headers } = await get('/models');
    held.resolve(undefined);
    assert.deepEqual([status, headers['retry-after']], [429, '1']);
    assert.deepEqual(await Promise.all(slow), [200, 200]);
  });

  it('logs who asked for what, and nothing that was read', async () => {
    const { storage, logger, get } = setUp();
    await fill(storage);
    await get('/namespaces/a/models/m1');
    const line = logger.lines.find(({ message }) => message === 'Answered');
    assert.equal(line?.['user'], 'alice');
    assert.ok(!JSON.stringify(logger.lines).includes('xgboost'));
  });

  it('logs every request that a user was served, and few of the refusals', async () => {
    const { storage, logger, get } = setUp();
    await fill(storage);
    for (let index = 0; index < 30; index += 1) await get('/models?limit=nonsense');
    for (let index = 0; index < 30; index += 1) await get('/namespaces/a/models/m1');
    const logged = (status: number): number =>
      logger.lines.filter((line) => line.message === 'Answered' && line['status'] === status).length;
    assert.deepEqual([logged(400), logged(200)], [20, 30]);
  });

  it('serves no other form than JSON', async () => {
    assert.equal((await setUp().get('/models', 'application/yaml')).status, 406);
  });
});
