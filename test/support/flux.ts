// Flux, as it follows a repository: the controllers of a cluster (hack/kind/gitops), or its kustomize-controller beside a
// local control plane.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../hack/local/free-port.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';
import { CodedError } from '../../src/base/errors.ts';
import { GitRepository } from './git-repository.ts';
import type { Installed } from './use-installed.ts';

const NAMESPACE = 'flux-system';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Kustomized {
  readonly conditions: readonly Condition[];
  readonly lastAppliedRevision?: string;
}

export class Flux {
  /** What it follows, from the branch of this repository. */
  readonly repository: GitRepository;
  readonly #installed: Installed;
  #programs: Programs | undefined;

  private constructor(installed: Installed, repository: GitRepository) {
    this.#installed = installed;
    this.repository = repository;
  }

  /** With the program and the definitions in the folder; the controllers of the cluster unless they are given. */
  static async start(
    installed: Installed,
    local: { readonly program: string; readonly crds: string } | undefined,
  ): Promise<Flux> {
    const flux = new Flux(installed, await GitRepository.create());
    try {
      if (local !== undefined) await flux.#startPrograms(local);
      return flux;
    } catch (error) {
      await flux.stop();
      throw error;
    }
  }

  /** Commits the working copy, and has it followed. Returns the revision as Flux writes it. */
  async commit(): Promise<string> {
    const { repository } = this;
    const revision = `${repository.branch}@sha1:${await repository.commit('a change')}`;
    const source = ['gitrepositories.source.toolkit.fluxcd.io', 'ingester'];
    if (this.#programs === undefined) {
      const asked = `reconcile.fluxcd.io/requestedAt=${new Date().toISOString()}`;
      await this.kubectl('annotate', ...source, asked, '--overwrite');
      return revision;
    }
    const status = await this.#programs.publish(repository.folder, revision);
    const patch = JSON.stringify({ status });
    await this.kubectl('patch', ...source, '--subresource=status', '--type=merge', '-p', patch);
    return revision;
  }

  async kustomization(name: string): Promise<Kustomized> {
    const text = await this.kubectl('get', 'kustomizations.kustomize.toolkit.fluxcd.io', name, '-o', 'json');
    const { status = {} } = JSON.parse(text) as { status?: Partial<Kustomized> };
    return { conditions: [], ...status };
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#installed.kubectl('-n', NAMESPACE, ...args);
  }

  async stop(): Promise<void> {
    await this.#programs?.stop();
    this.repository.remove();
  }

  async #startPrograms({ program, crds }: { readonly program: string; readonly crds: string }): Promise<void> {
    const kubectl = (...args: readonly string[]): Promise<string> => this.#installed.kubectl(...args);
    for (const file of readdirSync(crds).filter((name) => name.includes('toolkit.fluxcd.io'))) {
      await kubectl('apply', '--server-side', '-f', join(crds, file));
    }
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
    await kubectl('create', 'namespace', NAMESPACE);
    this.#programs = new Programs(this.#installed.kubeconfig, program, await freePort());
    await this.#programs.start();
  }
}

/** Its kustomize-controller, and in place of its source-controller a server of artifacts: what that makes of a commit. */
class Programs {
  readonly #folder = mkdtempSync(join(tmpdir(), 'flux-'));
  readonly #reaper = startReaper(this.#folder);
  readonly #artifacts = new Map<string, Buffer>();
  readonly #server: Server;
  readonly #controller: ServerProcess;

  constructor(kubeconfig: string, program: string, healthPort: number) {
    this.#server = createServer((request, response) => {
      const artifact = this.#artifacts.get(request.url ?? '');
      response.writeHead(artifact === undefined ? 404 : 200).end(artifact);
    });
    this.#controller = new ServerProcess({
      name: 'kustomize-controller',
      command: program,
      args: [
        ...['--watch-all-namespaces=true', '--requeue-dependency=1s', '--events-addr=', '--metrics-addr=0'],
        ...[`--health-addr=127.0.0.1:${healthPort}`, '--log-level=info'],
      ],
      env: { ...process.env, KUBECONFIG: kubeconfig, RUNTIME_NAMESPACE: NAMESPACE, HOME: this.#folder },
      directory: this.#folder,
      logFile: join(this.#folder, 'kustomize-controller.log'),
      reaper: this.#reaper,
      ready: () => answers(`http://127.0.0.1:${healthPort}/readyz`),
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await this.#controller.start();
  }

  /** Returns the status of a GitRepository that has the folder. */
  async publish(folder: string, revision: string): Promise<object> {
    const name = `/${this.#artifacts.size + 1}.tar.gz`;
    const file = join(this.#folder, name);
    const { code, stderr } = await runCommand('tar', ['-czf', file, '-C', folder, 'config', 'crds']);
    if (code !== 0) throw new CodedError('TEST_SETUP', `tar: ${stderr}`);
    const content = readFileSync(file);
    this.#artifacts.set(name, content);
    const digest = createHash('sha256').update(content).digest('hex');
    const { port } = this.#server.address() as AddressInfo;
    const now = new Date().toISOString();
    const ready = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored', lastTransitionTime: now };
    const artifact = {
      ...{ path: name.slice(1), url: `http://127.0.0.1:${port}${name}`, revision },
      ...{ digest: `sha256:${digest}`, lastUpdateTime: now, size: content.length },
    };
    return { observedGeneration: 1, artifact, conditions: [ready] };
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#reaper.dismiss();
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
