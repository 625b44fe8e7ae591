// The page in a browser, over a real API server, a real MySQL and a reconciler that works: what a user does there, to its
// end in the cluster.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startReaper } from '../../hack/local/reaper.ts';
import { Browser } from '../support/browser.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { PageUser } from '../support/page/user.ts';
import { savePicture } from '../support/query/page-suite.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const model = kind('Model');
const RESOURCE = 'models.michelangelo.api';
const PATH = '/apis/stored.michelangelo.api/v2';
/** Where a policy lets the reconciler write nothing. */
const HELD = 'held';
const RECONCILER = 'system:serviceaccount:ingester-system:ingester-reconciler';

const policy = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'hands-off' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': HELD } },
        resourceRules: [
          {
            ...{ apiGroups: ['michelangelo.api'], apiVersions: ['v2'] },
            ...{ operations: ['UPDATE'], resources: ['models'] },
          },
        ],
      },
      validations: [
        { expression: `request.userInfo.username != '${RECONCILER}'`, message: 'hands off, says the policy' },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'hands-off' },
    spec: { policyName: 'hands-off', validationActions: ['Deny'] },
  },
];

/** Each may do this with models in these namespaces. */
const users = [
  ['writer', 'get,list,create,patch,delete', ['ml', HELD]],
  ['reader', 'get,list', ['ml']],
] as const;

describe('the page over real servers', () => {
  const bundle = useBundle({ configuration: { ingester: { requeuePeriod: '8s' } } });
  let cluster: Cluster;
  let server: QueryServer;
  let browser: Browser;
  let user: PageUser;
  /** Ends what was started. */
  const started: (() => Promise<unknown>)[] = [];
  const tokens = new Map<string, string>();
  const be = (name: string): Promise<void> => user.logIn(server.url, tokens.get(name) ?? '');

  before(async () => {
    cluster = new Cluster(bundle());
    server = await startQueryServer(bundle(), { query: { requestTimeout: '30s' } });
    started.push(() => server.stop());
    for (const name of ['ml', HELD]) await cluster.namespace(name);
    for (const [name, verbs, namespaces] of users) {
      await cluster.kubectl('create', 'serviceaccount', name, '-n', 'ml');
      await cluster.kubectl('create', 'clusterrole', name, `--verb=${verbs}`, `--resource=${RESOURCE}`);
      const granted = [`--clusterrole=${name}`, `--serviceaccount=ml:${name}`];
      for (const namespace of namespaces)
        await cluster.kubectl('create', 'rolebinding', name, '-n', namespace, ...granted);
      tokens.set(name, (await cluster.kubectl('create', 'token', name, '-n', 'ml')).trim());
    }
    await cluster.kubectl('create', 'clusterrole', 'events-reader', '--verb=list', '--resource=events');
    const toWriter = ['--clusterrole=events-reader', '--serviceaccount=ml:writer'];
    for (const name of ['ml', HELD]) await cluster.kubectl('create', 'rolebinding', 'events', '-n', name, ...toWriter);
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items: policy });
    await cluster.apply(aManifest('Model', 'ml', 'plain', { spec: { algorithm: 'xgboost' } }));
    await eventually(async () => assert.equal((await cluster.rows(model, 'ml')).length, 1));
    const folder = join(bundle().directory, 'browser');
    mkdirSync(folder);
    const reaper = startReaper(folder);
    started.push(() => reaper.dismiss());
    browser = await Browser.start(folder, reaper);
    started.push(() => browser.stop());
    user = new PageUser(browser);
  });
  after(async () => {
    for (const stop of started.reverse()) await stop();
  });

  describe('says what is stuck', () => {
    const name = 'refused';
    /** As the API tells the user. */
    const names = async (...as: readonly string[]): Promise<readonly string[]> => {
      const { items } = JSON.parse(await cluster.kubectl('get', '--raw', `${PATH}/stuck`, ...as)) as {
        readonly items: readonly { readonly name: string; readonly code: string }[];
      };
      return items.map((item) => `${item.name} ${item.code}`);
    };
    const reader = ['--as=system:serviceaccount:ml:reader', '--as-group=system:authenticated'];
    before(async () => {
      await cluster.apply(aManifest('Model', HELD, name, { spec: { algorithm: 'xgboost' } }));
      await eventually(async () => {
        const patch = [
          '--type=merge',
          '-p',
          '{"metadata":{"labels":{"a":"b"}}}',
          '--as',
          RECONCILER,
          '--dry-run=server',
        ];
        assert.notEqual((await cluster.tryKubectl('patch', RESOURCE, '-n', HELD, name, ...patch)).code, 0);
      });
      await cluster.kubectl('delete', RESOURCE, '-n', HELD, name, '--wait=false');
    });

    it('and why, to a user who may list it', async () => {
      await eventually(async () => assert.deepEqual(await names(), ['refused KUBE_REFUSED']), 60_000);
      await be('writer');
      await browser.sees(/Stuck[\s\S]*held\/refused[\s\S]*hands off, says the policy/);
      savePicture('stuck', await browser.screenshot());
      await user.click('held/refused');
      await browser.sees(
        /Stuck \([\s\S]*hands off[\s\S]*Deletion asked for[\s\S]*Events[\s\S]*WriteRefused[\s\S]*hands off, says the policy/,
      );
      savePicture('events', await browser.screenshot());
    });

    it('and not to a user who may not', async () => {
      await be('reader');
      const text = await browser.sees(/Nothing of what you may list/);
      assert.doesNotMatch(text, /refused/);
      await user.go('#/models/ml/plain');
      await browser.sees(/cannot list resource "events" in API group "" in the namespace "ml"/);
      const path = `${PATH}/namespaces/ml/models/plain/events`;
      assert.match((await cluster.tryKubectl('get', '--raw', path, ...reader)).stderr, /events is forbidden/);
    });

    it('in the API too, with the rights of its caller', async () => {
      assert.deepEqual(await names(), ['refused KUBE_REFUSED']);
      assert.deepEqual(await names(...reader), []);
      const { stderr } = await cluster.tryKubectl(
        'get',
        '--raw',
        `${PATH}/stuck`,
        '--as=mallory',
        '--as-group=system:authenticated',
      );
      assert.match(stderr, /may list no kind/);
    });

    it('until it is over', async () => {
      await cluster.kubectl('delete', 'validatingadmissionpolicybinding', 'hands-off');
      await cluster.gone(model, HELD, name);
      await eventually(async () => assert.deepEqual(await names(), []), 60_000);
      await be('writer');
      await browser.sees(/Nothing of what you may list/);
      await user.go(`#/models/${HELD}/${name}`);
      await browser.sees(/deleted, kept for the record[\s\S]*Events[\s\S]*WriteRefused/);
    });
  });

  describe('restores and deletes', () => {
    const live = (name: string) => cluster.get(model, 'ml', name);
    const state = async (name: string): Promise<unknown> =>
      (await cluster.rows(model, 'ml', name)).at(-1)?.['row_state'];

    before(async () => {
      for (const name of ['evicted', 'stored-only', 'doomed']) {
        await cluster.apply(aManifest('Model', 'ml', name, { spec: { algorithm: `${name}-algorithm` } }));
      }
      for (const name of ['evicted', 'stored-only']) {
        await eventually(async () => assert.equal(await state(name), 0));
        const annotations = { 'michelangelo/Immutable': 'true' };
        await cluster.patch(model, 'ml', name, { metadata: { annotations } });
      }
      for (const name of ['evicted', 'stored-only']) {
        await cluster.gone(model, 'ml', name);
        await eventually(async () => assert.equal(await state(name), 3));
      }
    });

    it('nothing for a user without the right, who is told which one is missing', async () => {
      await be('reader');
      await user.go('#/models/ml/evicted');
      await browser.sees(/in MySQL only/);
      await user.click('Restore …');
      await browser.sees(/Restore ml\/evicted[\s\S]*cannot create resource "models"[\s\S]*in the namespace "ml"/);
      savePicture('restore-refused', await browser.screenshot());
      const buttons = `[...document.querySelectorAll('dialog button')].map(({ textContent }) => textContent)`;
      assert.deepEqual(await browser.evaluate(buttons), ['Close']);
      await user.click('Close');
      await user.go('#/models/ml/doomed');
      await browser.sees(/in etcd and MySQL[\s\S]*doomed-algorithm/);
      await user.click('Delete …');
      await browser.sees(/Delete ml\/doomed[\s\S]*cannot delete resource "models"/);
      assert.deepEqual(await browser.evaluate(buttons), ['Close']);
      assert.equal(await live('evicted'), undefined);
      assert.equal((await live('doomed'))?.metadata.deletionTimestamp, undefined);
    });

    it('an evicted object, which is in the cluster again', async () => {
      await be('writer');
      // The link of the list names the incarnation; what is restored is another one.
      await user.go('#/models?namespace=ml');
      await browser.sees(/evicted-algorithm/);
      await user.click('evicted');
      await browser.sees(/in MySQL only/);
      await user.click('Restore …');
      await browser.sees(/nothing has changed yet[\s\S]*would be restored/);
      savePicture('restore-preview', await browser.screenshot());
      assert.equal(await live('evicted'), undefined, 'a preview changes nothing');
      await user.click('Restore');
      await browser.sees(/is restored/);
      const restored = await live('evicted');
      assert.equal((restored?.['spec'] as { algorithm?: string } | undefined)?.algorithm, 'evicted-algorithm');
      const { annotations = {} } = restored?.metadata ?? {};
      assert.equal(annotations['michelangelo/RequestedBy'], 'system:serviceaccount:ml:writer');
      await user.click('Close');
      await eventually(async () => assert.equal(await state('evicted'), 0));
      await browser.sees(/in etcd and MySQL[\s\S]*evicted-algorithm/);
    });

    it('a live object, which leaves the cluster and is kept for the record', async () => {
      await user.go('#/models/ml/doomed');
      await browser.sees(/doomed-algorithm/);
      await user.click('Delete …');
      await browser.sees(/nothing has changed yet/);
      savePicture('delete-preview', await browser.screenshot());
      assert.equal((await live('doomed'))?.metadata.deletionTimestamp, undefined, 'a preview changes nothing');
      await user.click('Delete');
      await cluster.gone(model, 'ml', 'doomed');
      await user.click('Close');
      await eventually(async () => assert.equal(await state('doomed'), 2));
      await browser.sees(/deleted, kept for the record[\s\S]*doomed-algorithm/);
      assert.deepEqual(browser.complaints, []);
    });

    it('what is in MySQL only, which is deleted there', async () => {
      await user.go('#/models/ml/stored-only');
      await browser.sees(/in MySQL only[\s\S]*stored-only-algorithm/);
      await user.click('Delete …');
      await browser.sees(/nothing has changed yet/);
      assert.equal(await state('stored-only'), 3, 'a preview changes nothing');
      await user.click('Delete');
      await eventually(async () => assert.equal(await state('stored-only'), 2));
      await user.click('Close');
      await browser.sees(/deleted, kept for the record[\s\S]*stored-only-algorithm/);
    });
  });
});
