// What k9s, dashboards and client libraries ask, beside what kubectl asks.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { httpsGet } from '../https-get.ts';
import type { QueryServer } from '../query-server.ts';

const GROUP = 'stored.michelangelo.api';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export interface ClientSuite {
  readonly server: () => QueryServer;
  /** Of a user who may read models in ml. */
  readonly token: () => string;
  readonly kubeconfig: () => string;
}

interface Answer {
  readonly kind: string;
  readonly items?: readonly Readonly<Record<string, unknown>>[];
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object: { readonly kind: string } | null }[];
}

export function clientSuite({ server, token, kubeconfig }: ClientSuite): void {
  describe('to other clients', () => {
    const get = async (path: string, accept: string): Promise<Answer> => {
      const headers = { authorization: `Bearer ${token()}`, accept };
      const { status, body } = await httpsGet(`${server().url}${path}`, { caPem: server().caPem, headers });
      assert.equal(status, 200, JSON.stringify(body));
      return body as Answer;
    };
    const models = `/apis/${GROUP}/v2/namespaces/ml/models`;

    it('lists the metadata of objects only', async () => {
      const one = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
      const { kind, items = [] } = await get(models, one);
      assert.equal(kind, 'PartialObjectMetadataList');
      assert.ok(items.length > 0 && items.every((item) => !('spec' in item)));
    });

    for (const [include, kind] of [
      ['Object', 'Model'],
      ['Metadata', 'PartialObjectMetadata'],
      ['None', undefined],
    ] as const) {
      it(`makes tables whose rows carry ${include}`, async () => {
        const { rows = [] } = await get(`${models}?includeObject=${include}`, TABLE);
        assert.ok(rows.length > 0 && rows.every(({ object }) => object?.kind === kind));
      });
    }

    it('is discovered in one document, without the verb that would empty it with its namespace', async () => {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
      const text = JSON.stringify(await get('/apis', accept));
      assert.match(text, /"resource":"models".*"verbs":\["get","list","patch"\]/);
      assert.doesNotMatch(text, /"delete/);
    });

    it('is listed and read by the client library of Kubernetes', async () => {
      const config = new KubeConfig();
      config.loadFromFile(kubeconfig());
      const api = config.makeApiClient(CustomObjectsApi);
      const where = { group: GROUP, version: 'v2', namespace: 'ml', plural: 'models' };
      const list = (await api.listNamespacedCustomObject({ ...where, labelSelector: 'team=a' })) as Answer;
      assert.deepEqual([list.kind, list.items?.length], ['ModelList', 1]);
      const one = (await api.getNamespacedCustomObject({ ...where, name: 'kept' })) as { readonly kind: string };
      assert.equal(one.kind, 'Model');
      await assert.rejects(api.getNamespacedCustomObject({ ...where, name: 'none' }), /404/);
    });
  });
}
