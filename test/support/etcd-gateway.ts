// etcd by its JSON gateway: what no API server offers, and what happens to one's etcd all the same.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import type { ControlPlane } from '../../hack/local/control-plane.ts';
import { callEtcd, type EtcdAnswer } from '../../hack/local/etcd-call.ts';

export interface EtcdGateway {
  /** Forgets every state but the newest, so that nothing older can be watched or read; the revision. */
  compact(): Promise<string>;
  /** Writes values that an API server will take for its own, each at a revision of its own. Keys are below /registry. */
  put(values: readonly { readonly key: string; readonly value: object }[]): Promise<void>;
  remove(key: string): Promise<void>;
}

const CONNECTIONS = 32;

export function etcdGateway({ directory, etcdUrl }: ControlPlane): EtcdGateway {
  const file = (name: string): string => readFileSync(join(directory, 'pki', name), 'utf8');
  const client = { certificatePem: file('etcd-client.crt'), keyPem: file('etcd-client.key') };
  const access = { url: etcdUrl, caPem: file('etcd-ca.crt'), client };
  const call = (path: string, body: object, agent: Agent | false = false): Promise<EtcdAnswer> =>
    callEtcd(access, path, body, agent);
  const base64 = (value: string): string => Buffer.from(value).toString('base64');
  return {
    compact: async () => {
      const { revision } = (await call('/v3/kv/range', { key: base64('/') })).header;
      await call('/v3/kv/compaction', { revision, physical: true });
      return revision;
    },
    remove: async (key) => {
      await call('/v3/kv/deleterange', { key: base64(`/registry${key}`) });
    },
    put: async (values) => {
      const agent = new Agent({ keepAlive: true });
      const remaining = values.values();
      const work = async (): Promise<void> => {
        for (const { key, value } of remaining) {
          await call('/v3/kv/put', { key: base64(`/registry${key}`), value: base64(JSON.stringify(value)) }, agent);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, work));
      agent.destroy();
    },
  };
}
