import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAuthority } from '../../hack/local/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { aDeployment, type NodeCluster, useNodes } from '../support/use-nodes.ts';

const port = 8080;

/** Answers with a word, and is ready while it may be. */
function server(word: string): object {
  const script = `require('node:http').createServer((request, response) => {
    if (request.method === 'POST') ready = false;
    response.writeHead(request.url === '/ready' && !ready ? 503 : 200).end('${word} ' + require('node:os').hostname());
  }).listen(${port}); let ready = true;`;
  const readinessProbe = { httpGet: { path: '/ready', port: 'web' }, periodSeconds: 1, failureThreshold: 1 };
  const ports = [{ name: 'web', containerPort: port }];
  const container = { name: 'main', image: 'test/node', args: [script], ports, readinessProbe };
  return { terminationGracePeriodSeconds: 1, containers: [container] };
}

function aService(name: string, app: string): object {
  const ports = [{ name: 'http', port: 80, targetPort: 'web' }];
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app }, ports } };
}

async function ask(cluster: NodeCluster, host: string, method = 'GET'): Promise<string> {
  const { host: address, port: real } = cluster.network.resolve(host, 80);
  const response = await fetch(`http://${address}:${real}/`, { method });
  return await response.text();
}

describe('Services of process pods', () => {
  const use = useNodes({ count: 2 });

  it('lead to the ready pods of their selector, on the same port of each', async () => {
    const cluster = use();
    await cluster.apply(aService('word', 'blue'), aDeployment('blue', 2, server('blue')));
    await cluster.kubectl('rollout', 'status', 'deployment/blue', '--timeout=60s');
    const clusterIP = await cluster.kubectl('get', 'service', 'word', '-o', 'jsonpath={.spec.clusterIP}');
    const names = (await cluster.pods('app=blue')).map(({ metadata }) => metadata.name);
    for (const host of ['word.default.svc', 'word.default.svc.cluster.local', clusterIP]) {
      const answers = new Set<string>();
      await eventually(async () => {
        answers.add(await ask(cluster, host));
        assert.deepEqual([...answers].sort(), names.map((name) => `blue ${name}`).sort());
      });
    }
  });

  it('leave out a pod that is not ready', async () => {
    const cluster = use();
    const unready = (await ask(cluster, 'word.default.svc', 'POST')).split(' ')[1];
    const ready = (await cluster.pods('app=blue'))
      .map(({ metadata }) => metadata.name)
      .find((name) => name !== unready);
    await eventually(async () => {
      for (let time = 0; time < 20; time += 1) assert.equal(await ask(cluster, 'word.default.svc'), `blue ${ready}`);
    });
  });

  it('lead elsewhere when the selector changes', async () => {
    const cluster = use();
    await cluster.apply(aDeployment('green', 1, server('green')));
    await cluster.kubectl('rollout', 'status', 'deployment/green', '--timeout=60s');
    await cluster.apply(aService('word', 'green'));
    await eventually(async () => {
      for (let time = 0; time < 20; time += 1) assert.match(await ask(cluster, 'word.default.svc'), /^green /);
    });
  });

  it('refuse connections when no pod is ready', async () => {
    const cluster = use();
    await cluster.kubectl('scale', 'deployment/green', '--replicas=0');
    await eventually(() =>
      assert.throws(() => cluster.network.resolve('word.default.svc', 80), { code: 'LOCAL_NO_ROUTE' }),
    );
    assert.throws(() => cluster.network.resolve('unknown.default.svc', 80), { code: 'LOCAL_NO_ROUTE' });
  });

  it('are how the API server reaches a webhook', async () => {
    const cluster = use();
    const authority = await createAuthority('webhook-ca');
    const { certificatePem, keyPem } = await authority.issue({ commonName: 'says-no', hosts: ['says-no.default.svc'] });
    const script = `
      const { readFileSync } = require('node:fs');
      const file = (name) => readFileSync('/tls/' + name);
      require('node:https').createServer({ cert: file('tls.crt'), key: file('tls.key') }, (request, response) => {
        let text = '';
        request.on('data', (part) => text += part).on('end', () => {
          const { request: { uid } } = JSON.parse(text);
          const status = { code: 403, message: 'a pod says no' };
          const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: false, status } };
          response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
        });
      }).listen(9443);`;
    const container = {
      ...{ name: 'main', image: 'test/node', args: [script], ports: [{ name: 'web', containerPort: 9443 }] },
      volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
      readinessProbe: { tcpSocket: { port: 'web' }, periodSeconds: 1 },
    };
    const volumes = [{ name: 'tls', secret: { secretName: 'says-no' } }];
    const clientConfig = {
      service: { name: 'says-no', namespace: 'default', port: 80 },
      caBundle: Buffer.from(authority.caPem).toString('base64'),
    };
    const stringData = { 'tls.crt': certificatePem, 'tls.key': keyPem };
    await cluster.apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'says-no' }, type: 'kubernetes.io/tls', stringData },
      aService('says-no', 'says-no'),
      aDeployment('says-no', 1, { terminationGracePeriodSeconds: 1, containers: [container], volumes }),
    );
    await cluster.kubectl('rollout', 'status', 'deployment/says-no', '--timeout=60s');
    await cluster.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'says-no' },
      webhooks: [
        {
          ...{ name: 'says-no.example.com', clientConfig, admissionReviewVersions: ['v1'], sideEffects: 'None' },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
        },
      ],
    });
    await cluster.kubectl('create', 'configmap', 'kept');
    await eventually(async () => {
      const { stderr } = await cluster.tryKubectl('delete', 'configmap', 'kept', '--dry-run=server');
      assert.match(stderr, /a pod says no/);
    });
  });
});
