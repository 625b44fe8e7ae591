// A cluster with nothing of the bundle, an empty MySQL, and a user with a shell who copies what the docs print.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createAuthority } from '../../hack/local/certificates.ts';
import type { Flavour } from '../../hack/local/flavours.ts';
import { type PodCluster, startPodCluster } from '../../hack/local/pod-bundle.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { trustQuery } from '../../hack/local/trust-query.ts';
import { writeReleaseManifests } from '../../hack/release/manifests.ts';
import { CodedError } from '../../src/base/errors.ts';
import type { Block } from './docs-page.ts';

const root = join(import.meta.dirname, '../..');
const system = 'ingester-system';

export interface ShellOptions {
  /** Where the commands run; the folder of the user unless given. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class DocumentedInstall {
  readonly cluster: PodCluster;
  /** The folder of the user: the files of a release, `ca.crt`, the overlay in `ingester`, and its units. */
  readonly folder: string;
  readonly #bin: string;
  #profile = '';

  private constructor(cluster: PodCluster, folder: string) {
    this.cluster = cluster;
    this.folder = folder;
    this.#bin = join(folder, 'bin');
  }

  static async start(flavour: Flavour): Promise<DocumentedInstall> {
    const cluster = await startPodCluster({ flavour, progress: () => undefined });
    const install = new DocumentedInstall(cluster, mkdtempSync(join(tmpdir(), 'documented-')));
    try {
      await install.#prepare();
      return install;
    } catch (error) {
      await install.stop();
      throw error;
    }
  }

  /** What the database's own tools and cert-manager's CRDs give a user, and none of the steps that the docs print. */
  async #prepare(): Promise<void> {
    const { kubectl, controlPlane } = this.cluster;
    mkdirSync(this.#bin);
    symlinkSync(controlPlane.kubectl, join(this.#bin, 'kubectl'));
    const path = 'jsonpath={.data.ca\\.crt}';
    const authority = await kubectl('get', 'secret', '-n', system, 'ingester-mysql', '-o', path);
    writeFileSync(join(this.folder, 'ca.crt'), Buffer.from(authority, 'base64'));
    await kubectl('delete', 'namespace', system, '--timeout=60s');
    await writeReleaseManifests({ kubectl: controlPlane.kubectl, folder: this.folder });
  }

  /** Runs the SQL as an administrator, with the client of the database. */
  async sql({ text }: Block): Promise<void> {
    const [command = '', ...args] = this.cluster.server.clientCommand();
    const { code, stderr } = await runCommand(command, args, { input: text });
    if (code !== 0) throw new CodedError('TEST_SQL', stderr.trim());
  }

  /** Resolves to what the commands print; fails with it where one of them fails. */
  async sh(commands: string, { cwd = this.folder, env: more = {} }: ShellOptions = {}): Promise<string> {
    const env = {
      ...process.env,
      PATH: this.#path,
      npm_config_prefix: this.folder,
      npm_config_offline: 'true',
      ...more,
    };
    const cluster = { KUBECONFIG: this.cluster.controlPlane.kubeconfig, KUBERC: 'off' };
    const script = this.#profile + this.#here(commands);
    const { code, stdout, stderr } = await runCommand('bash', ['-euo', 'pipefail', '-c', script], {
      cwd,
      env: { ...env, ...cluster },
    });
    if (code !== 0) throw new CodedError('TEST_SHELL', `${script}: ${stdout}${stderr.trim()}`);
    return stdout;
  }

  /** Has every later shell begin with the settings of these commands, which run in the checkout. */
  keepInProfile(commands: string): void {
    this.#profile = (/^export .*\n/gm.exec(commands)?.[0] ?? '').replaceAll('$PWD', root);
  }

  /** Writes the overlay and its two units, without what this cluster has no definitions for, and the CRDs that it has. */
  overlay(overlay: Block, unit: Block): void {
    this.#kustomization(
      'ingester',
      overlay.text.replaceAll(/^.*components\/(?:crds|query-certificate|production)\b.*\n/gm, ''),
    );
    this.#kustomization('ingester-platform', unit.text);
    this.#kustomization('ingester-bundle', unit.text.replaceAll('components/platform', 'components/bundle'));
  }

  #kustomization(name: string, text: string): void {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    const here = text
      .replaceAll('https://git.example/ingester//', `${relative(folder, root)}/`)
      .replaceAll(/\?ref=\S+/g, '')
      .replaceAll('config/default', 'config/overlays/no-cert-manager');
    writeFileSync(join(folder, 'kustomization.yaml'), here);
  }

  /** In place of cert-manager: the certificate of the query API, and the API server trusts it. */
  async certifyQuery(): Promise<() => Promise<void>> {
    const authority = await createAuthority('ingester-query-ca');
    const pair = await authority.issue({ commonName: 'ingester-query', hosts: [`ingester-query.${system}.svc`] });
    const metadata = { name: 'ingester-query-tls', namespace: system };
    const stringData = { 'tls.crt': pair.certificatePem, 'tls.key': pair.keyPem, 'ca.crt': authority.caPem };
    await this.apply({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', stringData });
    return () => trustQuery(this.cluster.kubectl, authority.caPem);
  }

  async apply(manifest: object): Promise<void> {
    await this.cluster.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(manifest) });
  }

  /** Rows of the database that the docs name. */
  query(sql: string): Promise<readonly Record<string, unknown>[]> {
    return this.cluster.database.query(sql);
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** What npm installs for the user is below its prefix; what it adds to the path of this test is not the user's. */
  get #path(): string {
    const theirs = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
    return [this.#bin, ...theirs].join(':');
  }

  /** The server of this machine, manifests that need no cert-manager, and libraries that are there already. */
  #here(commands: string): string {
    return commands
      .replaceAll('mysql.example', 'localhost')
      .replaceAll('3306', String(this.cluster.databaseLink.port))
      .replaceAll(/\binstall\.yaml/g, 'install-no-cert-manager.yaml')
      .replaceAll(/^npm ci$/gm, 'true');
  }
}
