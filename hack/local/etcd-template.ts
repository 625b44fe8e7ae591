// What an API server writes into an empty etcd before it serves: roles, priority classes, flow schemas. It is the same every
// time and takes two of the four seconds of processor time that the start of an API server costs, so it is written once and
// copied. Nothing in it belongs to one cluster: namespaces, with the uid that names a cluster, leases and what holds
// certificates are left out, and the API server writes them as it does into an empty etcd.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { builtControlPlaneFolder } from './control-plane-build.ts';
import { writeControlPlaneFiles } from './control-plane-files.ts';
import { etcdData, startApiServer, startEtcd } from './control-plane-servers.ts';
import { callEtcd, type EtcdAccess } from './etcd-call.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';

/** Prefixes of keys that belong to one cluster, or to one start of it. */
const ownOfEach = [
  '/registry/namespaces/',
  '/registry/leases/',
  '/registry/events/',
  '/registry/configmaps/kube-system/extension-apiserver-authentication',
];

/** Flags of the servers decide what they write. */
const sources = ['control-plane-servers.ts', 'control-plane-files.ts', 'etcd-template.ts'] as const;

/** Data directory to begin with; undefined for programs that were not built here, which begin with an empty one. */
export async function etcdTemplate(binDir: string, preparation: Preparation): Promise<string | undefined> {
  if (binDir !== builtControlPlaneFolder(preparation.env)) return undefined;
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(join(import.meta.dirname, source)));
  const name = `${basename(binDir)}-${hash.digest('hex').slice(0, 12)}`;
  const path = join(cacheDirectory(preparation.env), 'etcd-templates', name);
  const fill = (folder: string, reaped: ReapedPreparation): Promise<void> => write(binDir, folder, reaped);
  return etcdData(await cachedFolder({ path, what: 'the first content of etcd', fill }, preparation));
}

async function write(binDir: string, folder: string, { reaper, signal }: ReapedPreparation): Promise<void> {
  const work = join(folder, 'work');
  mkdirSync(work);
  const files = await writeControlPlaneFiles(work);
  const context = { binDir, files, reaper, signal };
  const etcd = await startEtcd(context);
  try {
    const api = await startApiServer(context, etcd.url);
    await api.server.crash();
    const access = { url: etcd.url, caPem: files.etcdCaPem, client: files.etcdClient };
    for (const prefix of ownOfEach) await remove(access, prefix);
  } finally {
    await etcd.server.stop();
  }
  renameSync(etcdData(work), etcdData(folder));
  rmSync(work, { recursive: true });
}

async function remove(access: EtcdAccess, prefix: string): Promise<void> {
  const first = Buffer.from(prefix);
  const beyond = Buffer.from(prefix);
  // Prefixes end with an ASCII character, so the next key that does not have it differs in the last byte.
  beyond[beyond.length - 1] = (beyond.at(-1) ?? 0) + 1;
  const range = { key: first.toString('base64'), range_end: beyond.toString('base64') };
  await callEtcd(access, '/v3/kv/deleterange', range);
}
