import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LOOPBACK_ANNOTATION } from '../../../hack/local/node/address-pool.ts';
import { type NetworkState, routeTo } from '../../../hack/local/node/route.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';

function anObject(kind: string, name: string, more: object, metadata: object = {}): KubernetesObject {
  const meta = { name, namespace: 'ns', uid: name, resourceVersion: '1', ...metadata };
  return { apiVersion: 'v1', kind, metadata: meta, ...more };
}

const ready = { ready: true, serving: true, terminating: false };
const ending = { ready: false, serving: true, terminating: true };
const broken = { ready: false, serving: false, terminating: false };

function aState(endpoints: readonly [string, object][] | null): NetworkState {
  const ports = [{ name: 'http', port: 80, targetPort: 'web' }];
  const list = endpoints?.map(([address, conditions]) => ({ addresses: [address], conditions })) ?? null;
  const slice = { endpoints: list, ports: list === null ? null : [{ name: 'http', port: 8080 }] };
  const labels = { 'kubernetes.io/service-name': 'web' };
  const annotations = { [LOOPBACK_ANNOTATION]: '127.9.8' };
  return {
    services: () => [anObject('Service', 'web', { spec: { clusterIP: '10.96.0.7', ports } })],
    slices: () => [anObject('EndpointSlice', 'web-1', slice, { labels })],
    nodes: () => [anObject('Node', 'node', { spec: { podCIDR: '192.0.2.0/24' } }, { annotations })],
  };
}

const first = (): number => 0;

describe('a connection into the cluster', () => {
  const state = aState([
    ['192.0.2.5', broken],
    ['192.0.2.6', ending],
    ['192.0.2.7', ready],
  ]);

  for (const host of ['10.96.0.7', 'web.ns.svc', 'web.ns.svc.cluster.local']) {
    it(`to ${host} leads to a ready endpoint behind the Service`, () =>
      assert.deepEqual(routeTo(host, 80, state, first), { host: '127.9.8.7', port: 8080 }));
  }

  it('to the address of a pod or node leads to its loopback address, on the same port', () => {
    assert.deepEqual(routeTo('192.0.2.9', 10_250, state), { host: '127.9.8.9', port: 10_250 });
  });

  it('leads to an endpoint that ends but serves when no other is left', () => {
    const last = aState([
      ['192.0.2.5', broken],
      ['192.0.2.6', ending],
    ]);
    assert.equal(routeTo('web.ns.svc', 80, last, first).host, '127.9.8.6');
  });

  for (const [what, host, port, of] of [
    ['no endpoint is ready', 'web.ns.svc', 80, aState([['192.0.2.5', broken]])],
    ['there are no endpoints', 'web.ns.svc', 80, aState(null)],
    ['the Service has no such port', 'web.ns.svc', 81, state],
    ['there is no such Service', 'other.ns.svc', 80, state],
    ['no node has the address', '203.0.113.1', 80, state],
  ] as const) {
    it(`leads nowhere when ${what}`, () => assert.throws(() => routeTo(host, port, of), { code: 'LOCAL_NO_ROUTE' }));
  }
});
