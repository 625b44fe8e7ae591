// Where the API server is and how to log in: kubeconfig, exec plugins and in-cluster tokens, through client-node.
import { existsSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { canonicalJson } from '../../base/json.ts';
import { KubeconfigError } from '../errors.ts';

export interface KubeconfigSource {
  /** Empty: the KUBECONFIG variable, else the service account of the pod. */
  readonly kubeconfig: string;
  readonly context: string;
}

/** TLS options and headers of a request. `identity` changes whenever the TLS material does. */
export interface Credentials {
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: string;
}

/** Tokens and certificates rotate; client-node reads their files on every call, so calls are spared for this long. */
const FRESH_MS = 30_000;

export class CredentialSource {
  readonly server: string;
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  #current: Promise<Credentials> | undefined;
  #readAtMs = 0;

  constructor(source: KubeconfigSource, clock: Clock) {
    this.#config = loadKubeconfig(source);
    this.#clock = clock;
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null) throw new KubeconfigError('the current context names no cluster');
    this.server = cluster.server.replace(/\/$/, '');
  }

  get(): Promise<Credentials> {
    const now = this.#clock.monotonicMs();
    if (this.#current === undefined || now - this.#readAtMs > FRESH_MS) {
      this.#readAtMs = now;
      const reading = this.#read();
      this.#current = reading;
      reading.catch(() => this.expire());
    }
    return this.#current;
  }

  /** Reads again at the next call, for example after a 401. */
  expire(): void {
    this.#current = undefined;
  }

  async #read(): Promise<Credentials> {
    const options: RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    const tls = {
      ...textOption('ca', options.ca),
      ...textOption('cert', options.cert),
      ...textOption('key', options.key),
      ...textOption('servername', options.servername),
      ...(options.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: options.rejectUnauthorized }),
    };
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value);
    if (typeof options.auth === 'string') {
      headers['Authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    }
    return { tls, headers, identity: canonicalJson(tls) };
  }
}

function textOption(name: string, value: unknown): Readonly<Record<string, string>> {
  if (typeof value === 'string') return { [name]: value };
  return Buffer.isBuffer(value) ? { [name]: value.toString('utf8') } : {};
}

function loadKubeconfig(source: KubeconfigSource): KubeConfig {
  const config = new KubeConfig();
  const path = source.kubeconfig === '' ? process.env['KUBECONFIG'] : source.kubeconfig;
  try {
    if (path !== undefined && path !== '') config.loadFromFile(path);
    else if (existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token')) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (error) {
    throw new KubeconfigError(messageOf(error));
  }
  if (source.context !== '') {
    if (config.getContextObject(source.context) === null) throw new KubeconfigError(`no context "${source.context}"`);
    config.setCurrentContext(source.context);
  }
  return config;
}
