// Stored objects as they change: kubectl and client-go watch them through a real API server, over a real MySQL.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const MODELS = 'models.stored.michelangelo.api';
const NS = 'watched';
const PATH = `/apis/stored.michelangelo.api/v2/namespaces/${NS}/models`;
const model = kind('Model');

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly message?: string;
    readonly code?: number;
    readonly metadata: {
      readonly name: string;
      readonly resourceVersion: string;
      readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  };
}

describe('a watch of stored objects', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let server: QueryServer | undefined;

  before(async () => {
    cluster = new Cluster(bundle());
    server = await startQueryServer(bundle());
    await cluster.namespace(NS);
    await cluster.kubectl(
      'wait',
      '--for=condition=Available',
      '--timeout=60s',
      'apiservice/v2.stored.michelangelo.api',
    );
    for (const [user, verbs] of [
      ['watcher', 'get,list,watch'],
      ['lister', 'get,list'],
    ] as const) {
      await cluster.kubectl('create', 'role', user, '-n', NS, `--verb=${verbs}`, '--resource=models.michelangelo.api');
      await cluster.kubectl('create', 'rolebinding', user, '-n', NS, `--role=${user}`, `--user=${user}`);
    }
    for (const name of ['first', 'evicted']) await cluster.apply(aManifest('Model', NS, name));
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, 2));
  });
  after(() => server?.stop());

  /** What a kubectl prints as it goes on, until it is ended. */
  const following = (...args: readonly string[]) => {
    const { kubectl, kubeconfig } = bundle().controlPlane;
    const child = spawn(kubectl, args, { env: { ...process.env, KUBECONFIG: kubeconfig } });
    const said = { text: '', error: '', end: () => child.kill() };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.text += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.error += text));
    return said;
  };
  const watching = (query: string) => {
    const said = following('get', '--raw', `${PATH}?watch=1&${query}`);
    const events = () =>
      said.text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Event);
    const changes = () =>
      events()
        .filter(({ type }) => type !== 'BOOKMARK')
        .map(({ type, object }) => `${type} ${object.metadata.name}`);
    return { ...said, said, events, changes };
  };
  const begun = async (resourceVersion: string) => {
    const watch = watching(`resourceVersion=${resourceVersion}&allowWatchBookmarks=true`);
    await eventually(() => assert.equal(watch.events().at(-1)?.type, 'BOOKMARK', watch.said.error));
    return watch;
  };
  const label = (name: string, value: string) =>
    cluster.kubectl('label', 'models.michelangelo.api', '-n', NS, name, '--overwrite', value);
  const storedLabels = async (name: string) => {
    const { json } = (await cluster.row(model, NS, name)) as { readonly json: Event['object'] };
    return json.metadata.labels ?? {};
  };
  const listed = async () =>
    (JSON.parse(await cluster.kubectl('get', '--raw', PATH)) as { metadata: { resourceVersion: string } }).metadata
      .resourceVersion;

  it('shows in kubectl get --watch what there is, and each change: created, changed, evicted and deleted', async () => {
    const said = following('get', MODELS, '-n', NS, '--watch', '--output-watch-events');
    await eventually(() => assert.match(said.text, /ADDED +first[^]*\n/, said.error));
    const since = performance.now();
    await cluster.apply(aManifest('Model', NS, 'second'));
    await eventually(() => assert.match(said.text, /ADDED +second .*etcd and MySQL/, said.error));
    assert.ok(performance.now() - since < 5000);
    await label('second', 'team=a');
    await eventually(() => assert.match(said.text, /MODIFIED +second .*etcd and MySQL/));
    await cluster.patch(model, NS, 'evicted', { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await eventually(() => assert.match(said.text, /MODIFIED +evicted .* MySQL +\d/));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'second');
    await eventually(() => assert.match(said.text, /DELETED +second .*deleted/));
    assert.equal(said.text.match(/EVENT/g)?.length, 1, said.text);
    assert.equal(said.error, '');
    said.end();
  });

  it('serves the informer of client-go behind kubectl wait', async () => {
    const waiting = cluster.kubectl(
      'wait',
      MODELS,
      '-n',
      NS,
      'first',
      '--for=jsonpath={.metadata.labels.ready}=yes',
      '--timeout=30s',
    );
    await delay(1500);
    await label('first', 'ready=yes');
    assert.match(await waiting, /condition met/);
    await cluster.apply(aManifest('Model', NS, 'leaving'));
    await eventually(async () => assert.equal((await cluster.rows(model, NS, 'leaving')).length, 1));
    const deleted = cluster.kubectl('wait', MODELS, '-n', NS, 'leaving', '--for=delete', '--timeout=30s');
    await delay(1500);
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'leaving');
    assert.match(await deleted, /condition met/);
  });

  it('goes on behind a list and behind a bookmark without missing a change', async () => {
    const from = await listed();
    for (const value of ['n=1', 'n=2']) await label('first', value);
    const one = watching(`resourceVersion=${from}&allowWatchBookmarks=true`);
    await eventually(() =>
      assert.equal(one.events().findLast(({ type }) => type === 'MODIFIED')?.object.metadata.labels?.['n'], '2'),
    );
    await eventually(() => assert.equal(one.events().at(-1)?.type, 'BOOKMARK'));
    one.end();
    const bookmark = one.events().at(-1)?.object.metadata.resourceVersion ?? '';
    await label('first', 'n=3');
    await eventually(async () => assert.equal((await storedLabels('first'))['n'], '3'));
    const two = watching(`resourceVersion=${bookmark}`);
    await eventually(() => assert.equal(two.events().at(-1)?.object.metadata.labels?.['n'], '3'));
    two.end();
    const last = two.events().at(-1)?.object.metadata.resourceVersion ?? '';
    await label('first', 'n=4');
    const three = watching(`resourceVersion=${last}`);
    await eventually(() => assert.equal(three.events().at(-1)?.object.metadata.labels?.['n'], '4'));
    three.end();
  });

  it('sends the objects that there are first where it is asked to, and marks their end', async () => {
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2';
    const text = await cluster.kubectl('get', '--raw', `${PATH}?watch=1&${query}`);
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    const end = events.findIndex(({ object }) => object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true');
    assert.deepEqual(
      events
        .slice(0, end)
        .map(({ type, object }) => `${type} ${object.metadata.name}`)
        .sort(),
      ['ADDED evicted', 'ADDED first'],
    );
  });

  it('tells of an object that its labels or its source no longer select that it is gone from there', async () => {
    await label('first', 'stage=test');
    await eventually(async () => assert.equal((await storedLabels('first'))['stage'], 'test'));
    const selected = watching('labelSelector=stage%3Dtest');
    const live = watching('source=live');
    await eventually(() => assert.deepEqual(selected.changes(), ['ADDED first']));
    await cluster.apply(aManifest('Model', NS, 'other'));
    await label('first', 'stage=live');
    await eventually(() => assert.deepEqual(selected.changes(), ['ADDED first', 'DELETED first']));
    await cluster.patch(model, NS, 'other', { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await eventually(() => assert.equal(live.changes().at(-1), 'DELETED other'));
    for (const each of [selected, live]) each.end();
  });

  it('shows a user of one namespace nothing of another one, and a watch of all namespaces both', async () => {
    const other = 'unwatched';
    await cluster.namespace(other);
    const here = watching('allowWatchBookmarks=true&source=all');
    const everywhere = following('get', '--raw', `/apis/stored.michelangelo.api/v2/models?watch=1`);
    await eventually(() => assert.equal(here.events().at(-1)?.type, 'BOOKMARK'));
    await eventually(() => assert.match(everywhere.text, /"name":"first"/));
    await cluster.apply(aManifest('Model', other, 'secret'));
    await label('first', 'after=secret');
    await eventually(() => assert.match(everywhere.text, /"name":"secret"/));
    await eventually(() =>
      assert.equal(
        here.events().findLast(({ type }) => type === 'MODIFIED')?.object.metadata.labels?.['after'],
        'secret',
      ),
    );
    const last = performance.now();
    await eventually(() => assert.ok(here.events().at(-1)?.type === 'BOOKMARK' && performance.now() - last > 1500));
    assert.doesNotMatch(here.said.text, /unwatched/);
    for (const each of [here, everywhere]) each.end();
  });

  it('refuses what it cannot do, and users who may not', async () => {
    const refused = async (path: string, ...more: readonly string[]) => {
      const { code, stderr } = await cluster.tryKubectl('get', '--raw', path, ...more);
      assert.notEqual(code, 0);
      return stderr;
    };
    assert.match(await refused(`${PATH}?watch=1&resourceVersion=7`), /too old resource version: 7/);
    assert.match(
      await refused(`${PATH}?watch=1&fieldSelector=spec.algorithm%3Dx`),
      /a watch selects by labels, source/,
    );
    assert.match(await refused(`${PATH}?watch=1&orderBy=metadata.name`), /orderBy.* means nothing here/);
    assert.match(await refused(`${PATH}/first?watch=1`), /watch the list of the kind/);
    assert.match(
      await refused(`${PATH}?watch=1`, '--as=lister', '--as-group=system:authenticated'),
      /cannot watch resource "models" in API group "michelangelo.api" in the namespace "watched"/,
    );
    const watcher = ['--as=watcher', '--as-group=system:authenticated'];
    assert.match(
      await refused('/apis/stored.michelangelo.api/v2/models?watch=1', ...watcher),
      /cannot watch resource "models" in API group "michelangelo.api" at the cluster scope/,
    );
    const seen = await cluster.kubectl('get', '--raw', `${PATH}?watch=1&timeoutSeconds=1`, ...watcher);
    assert.match(seen, /^\{"type":"ADDED"/);
    assert.match(
      await refused(`${PATH}?watch=1`, '--as=stranger', '--as-group=system:authenticated'),
      /cannot watch resource "models"/,
    );
  });

  it('ends with an error where MySQL falls silent', async () => {
    const watch = await begun(await listed());
    const since = performance.now();
    bundle().server.pause();
    try {
      await eventually(() => assert.deepEqual(watch.events().at(-1)?.object.code, 503), 20_000);
    } finally {
      bundle().server.resume();
    }
    assert.ok(performance.now() - since >= 4000, 'a slow answer is no silence');
  });

  it('ends with an error where MySQL is away, and goes on behind its return without missing a change', async () => {
    const from = await listed();
    const before = await begun(from);
    await bundle().server.stop();
    await label('first', 'during=outage');
    await eventually(() => assert.deepEqual(before.events().at(-1)?.object.code, 503));
    assert.match(
      await cluster.tryKubectl('get', '--raw', `${PATH}?watch=1&resourceVersion=${from}`).then(({ stderr }) => stderr),
      /MySQL is not available|ServiceUnavailable/,
    );
    await bundle().server.start();
    await eventually(async () => assert.equal((await storedLabels('first'))['during'], 'outage'));
    const again = watching(`resourceVersion=${from}`);
    const ofFirst = () => again.events().findLast(({ object }) => object.metadata.name === 'first');
    await eventually(() => assert.equal(ofFirst()?.object.metadata.labels?.['during'], 'outage', again.said.text));
    again.end();
  });
});
