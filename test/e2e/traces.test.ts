// A change is followed from the API server's call of the webhook to its transaction in MySQL, and what the collector has is
// what the logs name.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Bundle, startBundle } from '../../hack/local/bundle.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';

const NAMESPACE = 'traced';
const model = kind('Model');
const BURST = 60;

describe('traces', () => {
  let receiver: OtlpReceiver;
  let bundle: Bundle;
  let cluster: Cluster;

  before(async () => {
    receiver = await startOtlpReceiver();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cr3t',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    };
    bundle = await startBundle({
      webhookEnv: env,
      reconcilerProgram: { env },
      configuration: { log: { level: 'debug' }, ingester: { concurrentReconciles: 20 } },
      tracesTo: `127.0.0.1:${await freePort()}`,
    });
    cluster = new Cluster(bundle);
    await cluster.namespace(NAMESPACE);
  });

  after(async () => {
    await bundle.stop();
    await receiver.close();
  });

  const named = (name: string, object: string): readonly ReceivedSpan[] =>
    receiver.spans.filter((span) => span.name === name && span.attributes['ingester.object.name'] === object);
  const one = (name: string, object: string): Promise<ReceivedSpan> =>
    eventually(() => {
      const [span] = named(name, object);
      assert.ok(span !== undefined, `${name} of ${object}`);
      return span;
    });
  const linesOf = (process: ServerProcess): readonly Readonly<Record<string, unknown>>[] =>
    readFileSync(process.logFile, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const loggedIn = (process: ServerProcess, { traceId, spanId }: ReceivedSpan) =>
    linesOf(process).filter((line) => line['trace_id'] === traceId && line['span_id'] === spanId);

  it('follow a create through both roles', async () => {
    await cluster.apply(aManifest('Model', NAMESPACE, 'first'));
    const admission = await one('POST /mutate', 'first');
    const root = await one('sync Model', 'first');
    const reconcile = await one('reconcile', 'first');
    assert.deepEqual([admission.service, admission.kind], ['ingester-webhook', 2]);
    assert.match(admission.parentId, /^[0-9a-f]{16}$/, 'the span of the API server');
    const { attributes } = admission;
    assert.equal(attributes['k8s.namespace.name'], NAMESPACE);
    assert.equal(attributes['ingester.object.kind'], 'Model');
    assert.equal(attributes['ingester.admission.operation'], 'CREATE');
    assert.equal(attributes['ingester.admission.outcome'], 'changed');
    assert.equal(attributes['http.response.status_code'], 200);
    const object = await cluster.get(model, NAMESPACE, 'first');
    assert.deepEqual([root.service, root.parentId, root.kind], ['ingester-reconciler', '', 5]);
    for (const span of [root, reconcile]) {
      assert.equal(span.attributes['k8s.namespace.name'], NAMESPACE);
      assert.equal(span.attributes['ingester.object.uid'], object?.metadata.uid);
      assert.equal(span.attributes['ingester.outcome'], 'done');
    }
    assert.equal(root.attributes['ingester.change'], 'created');
    assert.equal(reconcile.attributes['ingester.write'], 'inserted');
    const trace = receiver.spans.filter(({ traceId }) => traceId === root.traceId);
    const [queue] = trace.filter(({ name }) => name === 'queue');
    assert.deepEqual([queue?.parentId, reconcile.parentId], [root.spanId, root.spanId]);
    const commit = receiver.spans.find(
      ({ name, spanId, parentId }) =>
        name === 'commit' && (parentId === reconcile.spanId || reconcile.links.includes(spanId)),
    );
    assert.equal(commit?.attributes['db.system.name'], 'mysql');
    assert.ok(admission.startMs <= root.startMs && root.startMs <= reconcile.startMs);
    assert.ok(reconcile.startMs <= commit.startMs && commit.endMs <= reconcile.endMs);
    assert.equal(root.endMs >= reconcile.endMs, true);
  });

  it('are named by the lines of both logs, which hold no header', async () => {
    const admission = await one('POST /mutate', 'first');
    const reconcile = await one('reconcile', 'first');
    const said = (process: ServerProcess, span: ReceivedSpan) => loggedIn(process, span).map(({ msg }) => msg);
    assert.ok(said(bundle.webhook, admission).includes('Reviewed'));
    assert.ok(said(bundle.reconciler, reconcile).includes('Synced to MySQL: inserted'));
    assert.equal(receiver.requests[0]?.headers.authorization, 'Bearer s3cr3t');
    for (const { logFile } of [bundle.webhook, bundle.reconciler]) {
      assert.doesNotMatch(readFileSync(logFile, 'utf8'), /s3cr3t/);
    }
  });

  it('have an uid on both sides of an update', async () => {
    const uid = (await cluster.get(model, NAMESPACE, 'first'))?.metadata.uid;
    await cluster.patch(model, NAMESPACE, 'first', { metadata: { finalizers: [] } });
    const update = await eventually(() => {
      const [span] = named('POST /mutate', 'first').filter(
        ({ attributes }) => attributes['ingester.object.uid'] === uid,
      );
      assert.ok(span !== undefined);
      return span;
    });
    assert.equal(update.attributes['ingester.admission.operation'], 'UPDATE');
  });

  it('show objects that share a transaction with one span, linked with all of them', async () => {
    const names = Array.from({ length: BURST }, (_, index) => `burst-${index}`);
    const items = names.map((name) => aManifest('Model', NAMESPACE, name));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items });
    const attempts = await Promise.all(names.map((name) => one('reconcile', name)));
    const commits = await eventually(() => {
      const all = receiver.spans.filter(({ name }) => name === 'commit');
      const ids = new Set(attempts.map(({ spanId }) => spanId));
      const own = all.filter(({ parentId, links }) => [parentId, ...links].some((id) => ids.has(id)));
      const told = new Set(own.flatMap(({ parentId, links }) => [parentId, ...links]));
      for (const { spanId } of attempts) assert.ok(told.has(spanId));
      return own;
    });
    assert.ok(
      commits.some(({ links }) => links.length > 0),
      'some share a transaction',
    );
    for (const commit of commits) {
      assert.ok(commit.links.length < 128);
      for (const attempt of attempts.filter(({ spanId }) => commit.links.includes(spanId))) {
        assert.ok(attempt.links.includes(commit.spanId), 'the link leads both ways');
      }
    }
  });

  it('show the calls of a deletion, and that it is not stored while MySQL is away', async () => {
    await bundle.databaseLink.cut();
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NAMESPACE, 'burst-0', '--wait=false');
    const failed = await eventually(() => {
      const [span] = named('reconcile', 'burst-0').filter((each) => each.failed);
      assert.ok(span !== undefined);
      return span;
    });
    await bundle.databaseLink.heal();
    await cluster.gone(model, NAMESPACE, 'burst-0');
    assert.equal(failed.attributes['error.type'], 'STORAGE_UNAVAILABLE');
    const lines = loggedIn(bundle.reconciler, failed).map(({ msg }) => msg);
    assert.ok(lines.includes('Reconcile failed; trying again'), JSON.stringify(lines));
    await eventually(() => {
      const trace = receiver.spans.filter(({ traceId }) => traceId === failed.traceId);
      const attempts = trace.filter(({ name }) => name === 'reconcile');
      assert.ok(attempts.some((each) => !each.failed && Number(each.attributes['ingester.attempt']) > 1));
      const last = new Set(attempts.filter((each) => !each.failed).map(({ spanId }) => spanId));
      assert.ok(
        trace.some(({ name, kind: number, parentId }) => name === 'PATCH' && number === 3 && last.has(parentId)),
      );
    });
  });

  it('are counted, and no collector stops anything', async () => {
    const exported = async (port: number): Promise<number> => {
      const { body } = await probe(port, '/metrics');
      return Number(/ingester_trace_spans_total\{outcome="exported"\} (\d+)/.exec(body)?.[1]);
    };
    assert.ok((await exported(bundle.webhookHealthPort)) > BURST);
    assert.ok((await exported(bundle.reconcilerHealthPort)) > 3 * BURST);
    Object.assign(receiver, { answer: 'never' });
    await cluster.apply(aManifest('Model', NAMESPACE, 'unseen'));
    await eventually(async () => assert.equal((await cluster.rows(model, NAMESPACE, 'unseen')).length, 1));
    const began = performance.now();
    await bundle.reconciler.stop();
    assert.ok(performance.now() - began < 8000, 'a silent collector holds up the end for a moment only');
    assert.equal(linesOf(bundle.reconciler).at(-1)?.['msg'], 'Reconciler stopped');
  });
});
