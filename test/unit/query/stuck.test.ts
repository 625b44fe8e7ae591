// What the query API tells of objects that are stuck.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { createReadReport } from '../../../src/app/query/reconciler-report.ts';
import type { ObjectRef } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { ReconcilerReport, ReportedObject } from '../../../src/query/report-port.ts';
import { messageIn, queryApp } from '../../support/query-app.ts';

const object = (namespace: string, name: string, more: Partial<ReportedObject> = {}): ReportedObject => ({
  ...{ kind: 'Model', namespace, name, since: '2026-01-01T00:00:00Z', attempts: 3 },
  ...{ code: 'ROW_REFUSED', message: 'MySQL refused the row: too long.' },
  ...more,
});

/** The clock of the tests stands at the beginning of 2026. */
const told = (objects: readonly ReportedObject[], more: Partial<ReconcilerReport> = {}): ReconcilerReport => ({
  ...{ at: '2025-12-31T23:59:56.000Z', count: objects.length, objects, holds: [], unwatched: [] },
  ...more,
});

interface StuckAnswer {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly heldDeletions: readonly Readonly<Record<string, unknown>>[];
  readonly unwatchedKinds: readonly Readonly<Record<string, unknown>>[];
  readonly count: number;
  readonly truncated: boolean;
  readonly ageSeconds: number;
}

describe('what is stuck', () => {
  const answer = async (report: ReconcilerReport | undefined, allowed?: readonly string[]) => {
    const { get } = queryApp({
      report: () => report,
      ...(allowed === undefined ? {} : { allowed }),
    });
    const { status, body, headers } = await get('/stuck');
    return { status, headers, body: body as StuckAnswer };
  };

  it('is what the reconciler told last, with its reason and its place in this API', async () => {
    const { body } = await answer(told([object('ml', 'm1')]));
    assert.deepEqual(body.items, [
      {
        ...{ kind: 'Model', plural: 'models', namespace: 'ml', name: 'm1', since: '2026-01-01T00:00:00Z' },
        ...{ attempts: 3, code: 'ROW_REFUSED', message: 'MySQL refused the row: too long.' },
      },
    ]);
    assert.deepEqual([body.count, body.truncated, body.ageSeconds], [1, false, 4]);
  });

  it('is of namespaces that the user may list, and the number of all others is not told', async () => {
    const objects = [object('ml', 'm1'), object('other', 'm2')];
    const holds = [{ kind: 'Model', since: '2026-01-01T00:00:00Z', because: 'More than 100.' }];
    const { body } = await answer(told(objects, { count: 900, holds }), ['ml']);
    assert.deepEqual(
      body.items.map(({ name }) => name),
      ['m1'],
    );
    assert.deepEqual([body.count, body.truncated, body.heldDeletions], [1, true, []]);
    assert.equal((await answer(told(objects, { count: 900 }))).body.count, 900);
  });

  it('has kinds that cannot be watched, for users who may list them somewhere, without what a server said', async () => {
    const unwatched = [{ kind: 'Model', since: '2026-01-01T00:00:00Z' }];
    for (const allowed of [undefined, ['ml']]) {
      const { body } = await answer(told([], { unwatched }), allowed);
      const [first] = body.unwatchedKinds;
      assert.deepEqual(
        [first?.['kind'], first?.['plural'], first?.['since']],
        ['Model', 'models', unwatched[0]?.since],
      );
      assert.match(String(first?.['message']), /cannot watch this kind now/);
    }
    assert.equal((await answer(told([], { unwatched }), [])).status, 403);
  });

  it('has deletions that are held', async () => {
    const hold = { kind: 'Model', namespace: 'ml', since: '2026-01-01T00:00:00Z', because: 'More than 100.' };
    const { body } = await answer(told([], { holds: [hold] }), ['ml']);
    const expected = { kind: 'Model', plural: 'models', namespace: 'ml', since: hold.since, message: 'More than 100.' };
    assert.deepEqual(body.heldDeletions, [expected]);
  });

  it('leaves out kinds that are not served', async () => {
    const { body } = await answer(told([object('ml', 'p', { kind: 'Pod' })]));
    assert.deepEqual(body.items, []);
  });

  for (const [code, words] of [
    ['STORAGE_UNAVAILABLE', /^The reconciler cannot use MySQL now/],
    ['KUBE_UNAVAILABLE', /^The API server does not answer/],
    ['INTERNAL', /its log says why/],
  ] as const) {
    it(`does not tell users where servers are: ${code}`, async () => {
      const { body } = await answer(told([object('ml', 'm', { code, message: 'connect ECONNREFUSED 10.0.0.7:3306' })]));
      assert.match(String(body.items[0]?.['message']), words);
      assert.doesNotMatch(JSON.stringify(body), /10\.0\.0\.7/);
    });
  }

  it('is refused to a user who may list nothing', async () => {
    assert.equal((await answer(told([object('ml', 'm')]), [])).status, 403);
    assert.equal((await answer(told([]), [])).status, 403);
  });

  it('warns where the reconciler has told nothing for long', async () => {
    const { headers, body } = await answer(told([], { at: '2025-12-31T23:50:00.000Z' }));
    assert.match(headers['warning'] ?? '', /told last what is stuck 600 s ago/);
    assert.equal(body.ageSeconds, 600);
    assert.equal((await answer(told([]))).headers['warning'], undefined);
  });

  it('is no empty list where no reconciler has run', async () => {
    const { status, body } = await answer(undefined);
    assert.equal(status, 404);
    assert.match(messageIn(body), /no reconciler has run/);
  });

  it('is read once a second at most, however many ask', async () => {
    let reads = 0;
    const { get, clock } = queryApp({
      report: () => {
        reads += 1;
        return told([]);
      },
    });
    await Promise.all(Array.from({ length: 3 }, () => get('/stuck')));
    assert.equal(reads, 1);
    await clock.advance(1000);
    await get('/stuck');
    assert.equal(reads, 2);
  });
});

describe('the report of the reconciler', () => {
  const data: Record<string, Record<string, string> | undefined> = {};
  const read = createReadReport(
    {
      get: ({ name, namespace }: ObjectRef) => {
        const found = data[name];
        if (found === undefined) return Promise.reject(new KubeError('NotFound', 'none'));
        const metadata = { name, namespace, uid: 'u', resourceVersion: '1' };
        return Promise.resolve({ metadata, data: found } as unknown as KubernetesObject);
      },
    },
    'ingester-system',
  );

  it('is undefined until a reconciler has written it', async () => {
    assert.equal(await read(), undefined);
    data['ingester-status'] = {};
    assert.equal(await read(), undefined);
  });

  it('has what "ingester status" shows', async () => {
    const listed = [object('ml', 'm1')];
    const interrupted = { since: '2025-12-31T23:59:00Z', reason: 'storage is (re)initializing' };
    const kinds = [
      { kind: 'Project', objects: 1, failing: 0 },
      { kind: 'Model', objects: 3, failing: 0, interrupted },
    ];
    data['ingester-status'] = {
      'status.json': JSON.stringify({ at: '2026-01-01T00:00:00Z', kinds, failingObjects: { count: 7, listed } }),
    };
    data['ingester-control'] = { 'breaker.Model.ml': '{"because":"More than 100.","since":"2026-01-01T00:00:00Z"}' };
    const hold = { kind: 'Model', namespace: 'ml', because: 'More than 100.', since: '2026-01-01T00:00:00Z' };
    const unwatched = [{ kind: 'Model', since: interrupted.since }];
    assert.deepEqual(await read(), { at: '2026-01-01T00:00:00Z', count: 7, objects: listed, holds: [hold], unwatched });
  });

  it('says which right is missing, and an outage is an error', async () => {
    const failing = (error: Error) => createReadReport({ get: () => Promise.reject(error) }, 'ingester-system')();
    await assert.rejects(
      failing(new KubeError('Forbidden', 'no')),
      /may not read the ConfigMap ingester-status: apply/,
    );
    await assert.rejects(failing(new KubeError('Unavailable', 'away')), { code: 'KUBE_UNAVAILABLE' });
  });
});
