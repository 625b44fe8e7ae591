// The webhook role as a local process, and the manifests that make the API server call it.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Authority, type Certificate, createAuthority } from './certificates.ts';
import type { ControlPlane } from './control-plane.ts';
import { freePort } from './free-port.ts';
import type { Reaper } from './reaper.ts';
import { createRole } from './role-process.ts';
import type { ServerProcess } from './server-process.ts';

const root = join(import.meta.dirname, '../..');

export interface LocalWebhook {
  readonly process: ServerProcess;
  readonly port: number;
  readonly healthPort: number;
  /** Where it reads its certificate from. */
  readonly certDir: string;
  /** Whom the API server trusts for it. */
  readonly authority: Authority;
}

export interface WebhookPlace {
  readonly directory: string;
  readonly reaper: Reaper;
  /** Sections of its configuration. */
  readonly configuration?: Readonly<Record<string, object>>;
  /** Keys of its section `webhook`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Entry of the program; that of this checkout unless given. */
  readonly main?: string;
  /** Over the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the webhook, and copies the manifests into the directory so that several bundles never share a file. */
export async function startWebhook(place: WebhookPlace): Promise<LocalWebhook> {
  const { directory, reaper, main, env } = place;
  const [port, healthPort] = [await freePort(), await freePort()];
  const authority = await createAuthority('ingester-webhook-ca');
  const certDir = join(directory, 'tls');
  mkdirSync(certDir);
  writeKeyPair(certDir, await authority.issue({ commonName: 'ingester-webhook', hosts: ['127.0.0.1'] }));
  for (const folder of ['config', 'crds']) cpSync(join(root, folder), join(directory, folder), { recursive: true });
  writeWebhookAddress(directory, port, authority);
  const configuration = {
    // Nothing has to learn that it goes.
    server: { bindAddress: `127.0.0.1:${port}`, certDir },
    webhook: { shutdownDelay: '0s', ...place.settings },
    log: { level: 'debug' },
    ...place.configuration,
  };
  const program = { ...(main === undefined ? {} : { main }), ...(env === undefined ? {} : { env }) };
  const webhook = createRole({ role: 'webhook', ...program, directory, configuration, healthPort, reaper });
  await webhook.start();
  return { process: webhook, port, healthPort, certDir, authority };
}

export function writeKeyPair(certDir: string, { certificatePem, keyPem }: Certificate): void {
  writeFileSync(join(certDir, 'tls.crt'), certificatePem);
  writeFileSync(join(certDir, 'tls.key'), keyPem, { mode: 0o600 });
}

/** The local overlay reads this file. */
export function writeWebhookAddress(directory: string, port: number, { caPem }: Pick<Authority, 'caPem'>): void {
  const caBundle = Buffer.from(caPem).toString('base64');
  const url = `https://127.0.0.1:${port}`;
  const lines = [`mutateUrl=${url}/mutate`, `validateUrl=${url}/validate`, `caBundle=${caBundle}`, ''];
  writeFileSync(join(directory, 'config/overlays/local/webhook.env'), lines.join('\n'));
}

export async function applyManifests(controlPlane: ControlPlane, folder: string): Promise<void> {
  await controlPlane.kubectlRun(['apply', '-k', folder]);
  await controlPlane.kubectlRun(['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);
}
