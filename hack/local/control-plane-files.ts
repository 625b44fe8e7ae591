import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Authority, type Certificate, createAuthority, createSigningKeys } from './certificates.ts';

/** The first address of the service range is the API server's own inside the cluster. */
export const serviceRange = '10.96.0.0/16';
const egressSocketName = 'egress.sock';
const apiServerHosts = [
  '127.0.0.1',
  '10.96.0.1',
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** The identities of one control plane, and where its programs find theirs. */
export interface ControlPlaneFiles {
  readonly directory: string;
  readonly caPem: string;
  readonly etcdCaPem: string;
  readonly etcdClient: Certificate;
  readonly admin: Certificate;
  readonly controllerManager: Certificate;
  readonly scheduler: Certificate;
  /** Signs what joins later: nodes, and the network of their pods. */
  readonly authority: Authority;
  /** Unix socket of the way into the cluster network; nothing listens on it until pods run somewhere. */
  readonly egressSocket: string;
  readonly path: (name: string) => string;
}

/** Makes all keys and certificates. etcd has its own authority, so that no client of the API server can talk to it. */
export async function writeControlPlaneFiles(directory: string): Promise<ControlPlaneFiles> {
  const pki = join(directory, 'pki');
  mkdirSync(pki, { mode: 0o700 });
  const path = (name: string): string => join(pki, name);
  const [ca, etcdCa, frontProxyCa, signing] = await Promise.all([
    createAuthority('kubernetes-ca'),
    createAuthority('etcd-ca'),
    createAuthority('front-proxy-ca'),
    createSigningKeys(),
  ]);
  const [etcdServer, etcdClient, apiServer, kubeletClient, admin, controllerManager, scheduler] = await Promise.all([
    etcdCa.issue({ commonName: 'etcd', hosts: ['127.0.0.1', 'localhost'] }),
    etcdCa.issue({ commonName: 'kube-apiserver' }),
    ca.issue({ commonName: 'kube-apiserver', hosts: apiServerHosts }),
    ca.issue({ commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] }),
    ca.issue({ commonName: 'kubernetes-admin', organizations: ['system:masters'] }),
    ca.issue({ commonName: 'system:kube-controller-manager' }),
    ca.issue({ commonName: 'system:kube-scheduler' }),
  ]);
  const frontProxy = await frontProxyCa.issue({ commonName: 'front-proxy-client' });
  const texts = {
    'ca.crt': ca.caPem,
    'front-proxy-ca.crt': frontProxyCa.caPem,
    'etcd-ca.crt': etcdCa.caPem,
    'service-accounts.key': signing.privatePem,
    'service-accounts.pub': signing.publicPem,
    'egress.json': egressConfiguration(join(directory, egressSocketName)),
  };
  for (const [name, text] of Object.entries(texts)) writeSecret(path(name), text);
  for (const [name, pair] of Object.entries({
    etcd: etcdServer,
    'etcd-client': etcdClient,
    'front-proxy-client': frontProxy,
    'kube-apiserver': apiServer,
    'kubelet-client': kubeletClient,
  })) {
    writeSecret(path(`${name}.crt`), pair.certificatePem);
    writeSecret(path(`${name}.key`), pair.keyPem);
  }
  return {
    ...{ directory, caPem: ca.caPem, etcdCaPem: etcdCa.caPem, etcdClient, admin, controllerManager, scheduler },
    ...{ authority: ca, egressSocket: join(directory, egressSocketName), path },
  };
}

/** Whatever the API server dials inside the cluster (webhooks, aggregated APIs, kubelets) goes through the socket. */
function egressConfiguration(udsName: string): string {
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } };
  return JSON.stringify({
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [{ name: 'cluster', connection }],
  });
}

export function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}
