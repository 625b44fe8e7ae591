// The query API beside a bundle: a process under its service account, registered with the API server.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bundle } from '../../hack/local/bundle.ts';
import { createAuthority } from '../../hack/local/certificates.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { startEgress } from '../../hack/local/node/cluster-network.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { createRole, type RoleOptions } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';

const NAMESPACE = 'ingester-system';

export interface QueryServer {
  readonly process: ServerProcess;
  readonly healthPort: number;
  /** What it identifies itself with, to the API server and to its clients. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly url: string;
  readonly caPem: string;
  stop(): Promise<void>;
}

export interface QueryServerOptions {
  /** The program and its environment; that of this checkout unless given. */
  readonly program?: Pick<RoleOptions, 'main' | 'env'>;
  /** Over the section `query`. */
  readonly query?: object;
}

export async function startQueryServer(bundle: Bundle, options: QueryServerOptions = {}): Promise<QueryServer> {
  const { controlPlane } = bundle;
  const [port, healthPort] = [await freePort(), await freePort()];
  const directory = join(bundle.directory, 'query');
  mkdirSync(directory);
  const reaper = startReaper(directory);
  const authority = await createAuthority('ingester-query-ca');
  const hosts = [`ingester-query.${NAMESPACE}.svc`, '127.0.0.1'];
  const pair = await authority.issue({ commonName: 'ingester-query', hosts });
  writeFileSync(join(directory, 'tls.crt'), pair.certificatePem);
  writeFileSync(join(directory, 'tls.key'), pair.keyPem, { mode: 0o600 });
  // The Service leads here whatever it is called.
  const egress = await startEgress(controlPlane.egressSocket, (_host, target) => ({ host: '127.0.0.1', port: target }));
  await register(bundle, port, authority.caPem);
  const token = (await bundle.kubectl('create', 'token', 'ingester-query', '-n', NAMESPACE)).trim();
  const kubeconfig = join(directory, 'query.kubeconfig');
  const { url, caPem } = controlPlane;
  writeFileSync(kubeconfig, kubeconfigText({ url, caPem, user: { name: 'ingester-query', token } }), { mode: 0o600 });
  const configuration = {
    ...bundle.databaseSections,
    server: { bindAddress: `127.0.0.1:${port}`, certDir: directory },
    query: { ...options.query },
    kubernetes: { kubeconfig },
  };
  const process = createRole({ role: 'query', ...options.program, directory, configuration, healthPort, reaper });
  await process.start();
  const stop = async (): Promise<void> => {
    await process.stop();
    egress.closeAllConnections();
    egress.close();
    await reaper.dismiss();
  };
  const [, key = ''] = pair.keyPem.split('\n');
  const secrets = { 'token of the query role': token, 'private key of the query role': key };
  return { process, healthPort, secrets, url: `https://127.0.0.1:${port}`, caPem: authority.caPem, stop };
}

/** As the component registers it, but with a Service that leads to a process of this machine. */
async function register(bundle: Bundle, port: number, caPem: string): Promise<void> {
  const { controlPlane, directory } = bundle;
  const folder = join(import.meta.dirname, '../../config/components/query');
  const apiService = readFileSync(join(folder, 'apiservice.yaml'), 'utf8');
  const caBundle = Buffer.from(caPem).toString('base64');
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'ingester-query', namespace: NAMESPACE },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  };
  await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(service) });
  const rights = ['rbac.yaml', 'events.yaml', 'writes.yaml'].flatMap((file) => ['-f', join(folder, file)]);
  await bundle.kubectl('apply', ...rights);
  const file = join(directory, 'query/apiservice.yaml');
  writeFileSync(file, apiService.replace('    port: 443\n', `    port: ${port}\n  caBundle: ${caBundle}\n`));
  await bundle.kubectl('apply', '-f', file);
}
