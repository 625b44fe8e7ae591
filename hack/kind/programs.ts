// node hack/kind/programs.ts <folder>: puts the programs of a node into the folder, each built once from its Go module.
// Prints the version of Kubernetes.
import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { findBinaries } from '../local/binaries.ts';
import { controlPlanePrograms, kubernetesVersion, linkedVersion } from '../local/control-plane-build.ts';
import { findGoPrograms, type GoPrograms } from '../local/go-program.ts';
import { progressOnStderr } from '../local/progress.ts';

const version = kubernetesVersion();
const containerd = 'github.com/containerd/containerd/v2/cmd';
const plugins = 'github.com/containernetworking/plugins/plugins';
const one = (folder: string, what: string, imported = '.'): GoPrograms => {
  return { what, folder: `../kind/node/${folder}`, packages: [imported] };
};

/** What a single program is called, by module. */
const single: Readonly<Record<string, GoPrograms>> = {
  kubelet: { ...one('kubernetes', 'kubelet, kubeadm and kube-proxy'), linked: linkedVersion(version) },
  coredns: one('coredns', 'CoreDNS'),
  'kube-router': one('kube-router', 'kube-router', 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router'),
  'local-path-provisioner': one('local-path', 'the provisioner', 'github.com/rancher/local-path-provisioner'),
  pause: one('pause', 'pause'),
  kind: one('kind', 'kind', 'sigs.k8s.io/kind'),
};
const runtime: GoPrograms = {
  ...one('containerd', 'containerd and the plugins of CNI'),
  packages: [
    ...['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => `${containerd}/${name}`),
    ...['ipam/host-local', 'main/bridge', 'main/loopback', 'meta/portmap'].map((name) => `${plugins}/${name}`),
  ],
};

const folder = resolve(process.argv[2] ?? '.');
const preparation = { env: process.env, progress: progressOnStderr, signal: undefined };
mkdirSync(folder, { recursive: true });
copyFileSync(join(await findBinaries(preparation), 'etcd'), join(folder, 'etcd'));
for (const name of controlPlanePrograms.slice(1)) symlinkSync('etcd', join(folder, name));
for (const [name, programs] of Object.entries(single)) {
  copyFileSync(join(await find(programs), 'program'), join(folder, name));
}
for (const name of ['kubeadm', 'kube-proxy']) symlinkSync('kubelet', join(folder, name));
const built = await find(runtime);
for (const name of readdirSync(built)) copyFileSync(join(built, name), join(folder, name));
process.stdout.write(`${version}\n`);

async function find(programs: GoPrograms): Promise<string> {
  const found = await findGoPrograms(programs, preparation);
  if (found !== undefined) return found;
  throw new CodedError('LOCAL_BUILD_FAILED', `Go is needed to build ${programs.what}.`);
}
