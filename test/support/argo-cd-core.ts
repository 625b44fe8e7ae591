// Argo CD as "core" installs it, with the customizations that are shipped. On a cluster of others it is there already
// (hack/kind/gitops), without the plugin; else its own programs run beside the local control plane, with a Redis in memory.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../../hack/local/free-port.ts';
import { goModuleFolder } from '../../hack/local/go-module.ts';
import { type Reaper, startReaper } from '../../hack/local/reaper.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';
import { eventually } from './eventually.ts';
import { type Manifest, manifestsOf } from './renders.ts';
import type { Installed } from './use-installed.ts';

const root = join(import.meta.dirname, '../..');
const sources = join(root, 'hack/local/argocd');
const NAMESPACE = 'argocd';
/** What runs as processes here instead. */
const workloads = ['Deployment', 'StatefulSet', 'Service', 'NetworkPolicy'];

export interface Application {
  readonly sync: string;
  readonly health: string;
  readonly revision: string;
  /** For the reader of a failure. */
  readonly text: string;
}

export class ArgoCd {
  readonly #installed: Installed;
  readonly #folder: string;
  readonly #reaper: Reaper;
  readonly #servers: ServerProcess[] = [];

  private constructor(installed: Installed) {
    this.#installed = installed;
    mkdirSync(join(root, '.local'), { recursive: true });
    this.#folder = mkdtempSync(join(root, '.local/argo-cd-'));
    this.#reaper = startReaper(this.#folder);
  }

  static async start(installed: Installed, program: string | undefined): Promise<ArgoCd> {
    const argoCd = new ArgoCd(installed);
    try {
      if (program !== undefined) await argoCd.#startPrograms(program);
      return argoCd;
    } catch (error) {
      await argoCd.stop();
      throw error;
    }
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#installed.kubectl('-n', NAMESPACE, ...args);
  }

  /** Its state, after it was asked to look at its repository again. */
  async application(name: string): Promise<Application> {
    const text = await this.kubectl('get', 'applications.argoproj.io', name, '-o', 'json');
    const { metadata, status = {} } = JSON.parse(text) as {
      metadata: { annotations?: Readonly<Record<string, string>> };
      status?: Partial<Status>;
    };
    const { sync, health, operationState, conditions, resources = [] } = status;
    const shown = { sync, health, conditions, operation: operationState?.message };
    const unlike = resources.filter(
      (each) => each.status !== 'Synced' || (each.health?.status ?? 'Healthy') !== 'Healthy',
    );
    // While it looks, what it says may be about the commit before.
    const looking = metadata.annotations?.['argocd.argoproj.io/refresh'] !== undefined;
    return {
      sync: looking ? 'Refreshing' : (sync?.status ?? ''),
      health: health?.status ?? '',
      revision: sync?.revision ?? '',
      text: JSON.stringify([shown, unlike], undefined, 1),
    };
  }

  /** As a push to the repository does where Argo CD is told of it. */
  async refresh(name: string): Promise<void> {
    await this.kubectl(
      'annotate',
      'applications.argoproj.io',
      name,
      'argocd.argoproj.io/refresh=normal',
      '--overwrite',
    );
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.toReversed()) await server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#reaper.dismiss();
  }

  async #startPrograms(program: string): Promise<void> {
    const module = await goModuleFolder('github.com/argoproj/argo-cd/v3', sources);
    const bin = this.#writeTools(program, module);
    await this.#applyCore(module);
    const [redis, repo, repoHealth, health] = await Promise.all(Array.from({ length: 4 }, freePort));
    const env = {
      ...process.env,
      ...this.#installed.settings,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      ...{ KUBECONFIG: this.#installed.kubeconfig, HOME: this.#folder, TMPDIR: this.#folder },
      ...{ ARGOCD_FAKE_IN_CLUSTER: 'true', ARGOCD_GPG_ENABLED: 'false', ARGOCD_SYNC_WAVE_DELAY: '0' },
      ...{ ARGOCD_CONTROLLER_REPLICAS: '1', ARGOCD_CONTROLLER_SHARD: '0' },
      ARGOCD_PLUGINSOCKFILEPATH: this.#writePlugin(),
    };
    const shared = ['--redis', `127.0.0.1:${redis}`, '--metrics-port'];
    await this.#run(join(bin, 'redis'), [`127.0.0.1:${redis}`], env, () => listens(redis ?? 0));
    await this.#run(join(bin, 'argocd-cmp-server'), ['--config-dir-path', join(this.#folder, 'plugin')], env, () =>
      Promise.resolve(existsSync(join(env.ARGOCD_PLUGINSOCKFILEPATH, 'ingester-render.sock'))),
    );
    await this.#run(
      join(bin, 'argocd-repo-server'),
      [
        ...shared,
        String(repoHealth),
        '--address=127.0.0.1',
        '--port',
        String(repo),
        '--disable-tls',
        '--client-ca-path=',
      ],
      env,
      () => answers(`http://127.0.0.1:${repoHealth}/healthz`),
    );
    await this.#run(
      join(bin, 'argocd-application-controller'),
      [...shared, String(health), '--repo-server', `127.0.0.1:${repo}`, '--repo-server-plaintext', '-n', NAMESPACE],
      env,
      () => answers(`http://127.0.0.1:${health}/healthz`),
    );
  }

  async #run(command: string, args: readonly string[], env: NodeJS.ProcessEnv, ready: Ready): Promise<void> {
    const name = relative(join(this.#folder, 'bin'), command);
    const files = { directory: this.#folder, logFile: join(this.#folder, `${name}.log`) };
    const server = new ServerProcess({ name, command, args, env, ...files, reaper: this.#reaper, ready });
    this.#servers.push(server);
    await server.start();
  }

  /** The plugin of config/argocd/plugin as its sidecar has it. Returns the folder where it is found by the repo server. */
  #writePlugin(): string {
    const sockets = join(this.#folder, 'sockets');
    for (const folder of [sockets, join(this.#folder, 'plugin')]) mkdirSync(folder);
    const { data } = parse(readFileSync(join(root, 'config/argocd/plugin/plugin.yaml'), 'utf8')) as {
      data: Readonly<Record<'plugin.yaml', string>>;
    };
    writeFileSync(join(this.#folder, 'plugin/plugin.yaml'), data['plugin.yaml']);
    return sockets;
  }

  /** The faces of the program, what they call, and kustomize as kubectl has it. */
  #writeTools(program: string, module: string): string {
    const bin = join(this.#folder, 'bin');
    mkdirSync(bin);
    copyFileSync(join(module, 'hack/git-verify-wrapper.sh'), join(bin, 'git-verify-wrapper.sh'));
    chmodSync(join(bin, 'git-verify-wrapper.sh'), 0o755);
    for (const face of ['argocd-application-controller', 'argocd-repo-server', 'argocd-cmp-server', 'redis'])
      symlinkSync(program, join(bin, face));
    const kubectl = `"${this.#installed.kubectlPath}"`;
    const ingester = `"${process.execPath}" "${join(root, 'src/main.ts')}"`;
    for (const [name, script] of [
      ['kustomize', `[ "$1" = build ] || exit 0\nshift\nexec ${kubectl} kustomize "$@"`],
      ['ingester', `exec ${ingester} "$@"`],
    ] as const) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    return bin;
  }

  /** As hack/kind/argocd, with Argo CD's own manifests out of its module. */
  async #applyCore(module: string): Promise<void> {
    copyFileSync(join(module, 'manifests/core-install.yaml'), join(this.#folder, 'core-install.yaml'));
    chmodSync(join(this.#folder, 'core-install.yaml'), 0o644);
    const kustomization = {
      namespace: NAMESPACE,
      resources: ['core-install.yaml'],
      components: [relative(this.#folder, join(root, 'config/argocd/customizations'))],
    };
    writeFileSync(join(this.#folder, 'kustomization.yaml'), stringify(kustomization));
    const items = manifestsOf(await this.#installed.kubectl('kustomize', this.#folder)).filter(
      ({ kind }) => !workloads.includes(kind),
    );
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
    const file = join(this.#folder, 'core.json');
    const apply = async (manifests: readonly (Manifest | object)[]): Promise<void> => {
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
      await this.#installed.kubectl('apply', '--server-side', '-f', file);
    };
    await apply([namespace, ...items]);
    // kubectl does not wait for a CRD that has no list of conditions yet: it fails.
    await eventually(() =>
      this.#installed.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s'),
    );
  }
}

type Ready = () => Promise<boolean>;

interface Status {
  readonly sync: { readonly status: string; readonly revision: string };
  readonly health: { readonly status: string };
  readonly operationState: { readonly message: string };
  readonly conditions: readonly object[];
  readonly resources: readonly { readonly status?: string; readonly health?: { readonly status: string } }[];
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
