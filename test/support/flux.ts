// Flux's kustomize-controller beside a local control plane, and in place of source-controller a server of artifacts: what
// that controller makes of a commit, without Git.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../../hack/local/control-plane.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';
import { CodedError } from '../../src/base/errors.ts';

const root = join(import.meta.dirname, '../..');
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
  readonly #controlPlane: ControlPlane;
  readonly #folder: string;
  readonly #artifacts = new Map<string, Buffer>();
  readonly #server: Server;
  readonly #controller: ServerProcess;
  readonly #dismiss: () => Promise<void>;
  #commits = 0;

  private constructor(controlPlane: ControlPlane, program: string, healthPort: number) {
    this.#controlPlane = controlPlane;
    this.#folder = mkdtempSync(join(tmpdir(), 'flux-'));
    const reaper = startReaper(this.#folder);
    this.#dismiss = () => reaper.dismiss();
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
      env: { ...process.env, KUBECONFIG: controlPlane.kubeconfig, RUNTIME_NAMESPACE: NAMESPACE, HOME: this.#folder },
      directory: this.#folder,
      logFile: join(this.#folder, 'kustomize-controller.log'),
      reaper,
      ready: () => answers(`http://127.0.0.1:${healthPort}/readyz`),
    });
  }

  /** With the definitions in the folder, and a repository that is what `prepare` makes of the folders that are shipped. */
  static async start(
    controlPlane: ControlPlane,
    { program, crds }: { readonly program: string; readonly crds: string },
  ): Promise<Flux> {
    const flux = new Flux(controlPlane, program, await freePort());
    try {
      for (const folder of ['config', 'crds']) cpSync(join(root, folder), flux.#path(folder), { recursive: true });
      for (const file of readdirSync(crds).filter((name) => name.includes('toolkit.fluxcd.io'))) {
        await controlPlane.kubectlRun(['apply', '--server-side', '-f', join(crds, file)]);
      }
      await controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s']);
      await controlPlane.kubectlRun(['create', 'namespace', NAMESPACE]);
      flux.#server.listen(0, '127.0.0.1');
      await flux.#controller.start();
      return flux;
    } catch (error) {
      await flux.stop();
      throw error;
    }
  }

  read(path: string): string {
    return readFileSync(this.#path(path), 'utf8');
  }

  /** Writes a file of the working copy; undefined removes it. */
  write(path: string, text: string | undefined): void {
    mkdirSync(dirname(this.#path(path)), { recursive: true });
    if (text === undefined) rmSync(this.#path(path));
    else writeFileSync(this.#path(path), text);
  }

  /** Publishes the working copy as source-controller does a commit. Returns the revision. */
  async commit(): Promise<string> {
    const name = `/${(this.#commits += 1)}.tar.gz`;
    const file = join(this.#folder, name);
    const { code, stderr } = await runCommand('tar', ['-czf', file, '-C', this.#path('.'), 'config', 'crds']);
    if (code !== 0) throw new CodedError('TEST_SETUP', `tar: ${stderr}`);
    const content = readFileSync(file);
    this.#artifacts.set(name, content);
    const digest = createHash('sha256').update(content).digest('hex');
    const revision = `v0.1.0@sha1:${createHash('sha1').update(name).digest('hex')}`;
    const { port } = this.#server.address() as AddressInfo;
    const now = new Date().toISOString();
    const ready = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored', lastTransitionTime: now };
    const artifact = {
      ...{ path: name.slice(1), url: `http://127.0.0.1:${port}${name}`, revision },
      ...{ digest: `sha256:${digest}`, lastUpdateTime: now, size: content.length },
    };
    const status = { observedGeneration: 1, artifact, conditions: [ready] };
    await this.kubectl(
      'patch',
      'gitrepository',
      'ingester',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    );
    return revision;
  }

  async kustomization(name: string): Promise<Kustomized> {
    const text = await this.kubectl('get', 'kustomizations.kustomize.toolkit.fluxcd.io', name, '-o', 'json');
    const { status = {} } = JSON.parse(text) as { status?: Partial<Kustomized> };
    return { conditions: [], ...status };
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return (await this.#controlPlane.kubectlRun(['-n', NAMESPACE, ...args])).stdout;
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#dismiss();
  }

  #path(path: string): string {
    return join(this.#folder, 'repository', path);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
