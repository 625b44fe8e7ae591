import type { IngesterSpec, PodSpec } from '../../src/api/ingester/spec.ts';

const database = { credentialsSecret: 'ingester-mysql' };
const lifecycle = { migrate: { disabled: true }, init: { disabled: true } };
export const fine: IngesterSpec = { version: '1.0.0', database, components: { sync: {} }, lifecycle };

export const theirs = 'platform-admin';
const inPod = (pod: PodSpec): Partial<IngesterSpec> => ({ podTemplate: pod });
const query = { certificateSecret: 'ingester-tls' };
const clone = { sourceSecret: theirs };
const serviceAccountToken = { path: 'token', audience: 'vault' };

/** What only an administrator permits: what it is, where it is named, and the change that asks for it. */
export const forbiddenAsks: readonly (readonly [what: string, path: string, change: Partial<IngesterSpec>])[] = [
  ['an image of another repository', 'spec.image', { image: 'registry.example.com/theirs:1.0.0' }],
  ['a repository that begins as ours', 'spec.image', { image: 'michelangelo-ingester-theirs:1.0.0' }],
  ['our repository as the name of a registry', 'spec.image', { image: 'michelangelo-ingester:443/theirs' }],
  ['credentials of others', 'spec.database.credentialsSecret', { database: { credentialsSecret: theirs } }],
  [
    'a key of others',
    'spec.database.encryption.key.name',
    { database: { ...database, encryption: { key: { name: theirs, key: 'k' } } } },
  ],
  [
    'authorities of others',
    'spec.database.tls.caSecret.name',
    { database: { ...database, tls: { caSecret: { name: theirs, key: 'k' } } } },
  ],
  [
    'an administrator of others',
    'spec.database.rotation.adminSecret',
    { database: { ...database, rotation: { credentialsSecret: 'ingester-2', adminSecret: theirs } } },
  ],
  ['credentials sent elsewhere', 'spec.database.host', { database: { ...database, host: 'mysql.theirs.example.com' } }],
  [
    'a certificate of others',
    'spec.components.query.certificateSecret',
    { components: { query: { certificateSecret: theirs } } },
  ],
  [
    'a certificate of others for the Ingress',
    'spec.networking.ingress.tlsSecret',
    { components: { query }, networking: { hosts: ['a'], ingress: { tlsSecret: theirs } } },
  ],
  [
    'a program for the Ingress controller',
    'spec.networking.ingress.annotations',
    {
      components: { query },
      networking: {
        hosts: ['a'],
        ingress: { annotations: { 'nginx.ingress.kubernetes.io/configuration-snippet': 'x' } },
      },
    },
  ],
  [
    'a source of others',
    'spec.lifecycle.clone.sourceSecret',
    { environment: 'Staging', lifecycle: { ...lifecycle, clone } },
  ],
  ['Secrets of others to pull with', 'spec.imagePullSecrets', { imagePullSecrets: [theirs] }],
  [
    'a command',
    'spec.lifecycle.migrate.command',
    { lifecycle: { migrate: { command: ['sh', '-c', 'cat /etc/ingester/mysql/password'] } } },
  ],
  ['a folder of the node', 'spec.podTemplate.volumes[0]', inPod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] })],
  [
    'a Secret of others as a volume',
    'spec.podTemplate.volumes[0].secret.secretName',
    inPod({ volumes: [{ name: 'v', secret: { secretName: theirs } }] }),
  ],
  [
    'a projected token',
    'spec.podTemplate.volumes[0]',
    inPod({ volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken }] } }] }),
  ],
  [
    'a CSI volume',
    'spec.podTemplate.volumes[0]',
    inPod({ volumes: [{ name: 'v', csi: { driver: 'secrets-store.csi.k8s.io' } }] }),
  ],
  [
    'a Secret of others in a variable',
    'spec.podTemplate.env[0]',
    inPod({ env: [{ name: 'TZ', valueFrom: { secretKeyRef: { name: theirs, key: 'k' } } }] }),
  ],
  [
    'a program for the engine',
    'spec.podTemplate.env[0]',
    inPod({ env: [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,0' }] }),
  ],
  ['a library', 'spec.podTemplate.env[0]', inPod({ env: [{ name: 'LD_PRELOAD', value: '/tmp/a.so' }] })],
  [
    'a setting that the resource may not have',
    'spec.lifecycle.podTemplate.env[0]',
    { lifecycle: { ...lifecycle, podTemplate: { env: [{ name: 'INGESTER_MYSQL_TLS_MODE', value: 'off' }] } } },
  ],
  [
    'a container by annotation',
    'spec.components.sync.podTemplate.annotations',
    { components: { sync: { podTemplate: { annotations: { 'vault.hashicorp.com/agent-inject': 'true' } } } } },
  ],
  [
    'a label that gives an identity',
    'spec.podTemplate.labels',
    inPod({ labels: { 'azure.workload.identity/use': 'true' } }),
  ],
  [
    'a place before all others',
    'spec.podTemplate.priorityClassName',
    inPod({ priorityClassName: 'system-node-critical' }),
  ],
  [
    'a node of the control plane',
    'spec.podTemplate.tolerations[0]',
    inPod({ tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] }),
  ],
  ['every node', 'spec.podTemplate.tolerations[0]', inPod({ tolerations: [{ operator: 'Exists' }] })],
];
