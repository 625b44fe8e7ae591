// Exec plugins and auth providers, through the client library. It is large: 80 MB and most of a second of processor
// time, so it is loaded only where a kubeconfig asks for a plugin.
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { ChosenContext } from './kubeconfig.ts';
import type { LoginData } from './login-data.ts';

export class PluginLogin {
  readonly #chosen: ChosenContext;
  #config: Promise<KubeConfig> | undefined;

  constructor(chosen: ChosenContext) {
    this.#chosen = chosen;
  }

  async read(): Promise<LoginData> {
    this.#config ??= loadLibrary(this.#chosen);
    const options: RequestOptions = { headers: {} };
    await (await this.#config).applyToHTTPSOptions(options);
    const tls = {
      ...textOption('ca', options.ca),
      ...textOption('cert', options.cert),
      ...textOption('key', options.key),
      ...textOption('servername', options.servername),
      ...(options.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: options.rejectUnauthorized }),
    };
    const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]);
    return { tls, headers: Object.fromEntries(headers) as Record<string, string> };
  }
}

async function loadLibrary({ cluster, user }: ChosenContext): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const name = 'chosen';
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name, cluster }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    }),
  );
  return config;
}

function textOption(name: string, value: unknown): Readonly<Record<string, string>> {
  if (typeof value === 'string') return { [name]: value };
  return Buffer.isBuffer(value) ? { [name]: value.toString('utf8') } : {};
}
