import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { type PodBundle, type PodBundleOptions, startPodBundle } from '../../hack/local/pod-bundle.ts';
import { programFile } from '../../hack/local/program.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { IngesterStatus, LifecycleStatus, TopPhase } from '../../src/api/ingester/status.ts';
import { CodedError } from '../../src/base/errors.ts';
import { type ApiAnswer, ApiServer, contentTypes } from './api-server.ts';
import { eventually } from './eventually.ts';

export const SYSTEM = 'ingester-system';
export const INGESTER = 'ingester';

const paths = {
  configmaps: '/api/v1',
  deployments: '/apis/apps/v1',
  events: '/apis/events.k8s.io/v1',
  horizontalpodautoscalers: '/apis/autoscaling/v2',
  ingesters: '/apis/ingester.michelangelo.api/v1',
  ingresses: '/apis/networking.k8s.io/v1',
  jobs: '/apis/batch/v1',
  models: '/apis/michelangelo.api/v2',
  networkpolicies: '/apis/networking.k8s.io/v1',
  poddisruptionbudgets: '/apis/policy/v1',
  pods: '/api/v1',
  services: '/api/v1',
} as const;

/** Plural name. */
export type Resource = keyof typeof paths;

function pathTo(resource: Resource, name?: string): string {
  const collection = `${paths[resource]}/namespaces/${SYSTEM}/${resource}`;
  return name === undefined ? collection : `${collection}/${name}`;
}

/**
 * The bundle with its lifecycle controller, and one Ingester resource. What tests ask again and again is asked without
 * kubectl: each takes a tenth of a second of processor time from what they wait for.
 */
export class LifecycleCluster {
  readonly bundle: PodBundle;
  readonly #api: ApiServer;

  constructor(bundle: PodBundle) {
    this.bundle = bundle;
    this.#api = new ApiServer(bundle.controlPlane.kubeconfig);
  }

  async stop(): Promise<void> {
    this.#api.close();
    await this.bundle.stop();
  }

  /** Fails where there is none. */
  async read<T = ApiAnswer['body']>(resource: Resource, name: string): Promise<T> {
    return (await this.#api.must({ method: 'GET', path: pathTo(resource, name) })) as unknown as T;
  }

  async isGone(resource: Resource, name: string): Promise<boolean> {
    return (await this.#api.call({ method: 'GET', path: pathTo(resource, name) })).status === 404;
  }

  async list<T = ApiAnswer['body']>(resource: Resource, labelSelector = ''): Promise<readonly T[]> {
    const path = `${pathTo(resource)}?labelSelector=${encodeURIComponent(labelSelector)}`;
    const { items } = (await this.#api.must({ method: 'GET', path })) as unknown as { readonly items: readonly T[] };
    return items;
  }

  async names(resource: Resource, labelSelector: string): Promise<readonly string[]> {
    return (await this.list(resource, labelSelector)).map(({ metadata }) => metadata.name).sort();
  }

  /** Of the components, to see which were started anew. */
  podNames(): Promise<readonly string[]> {
    return this.names('pods', 'app.kubernetes.io/component in (sync,query)');
  }

  /** Whether the API server took it. */
  async create(resource: Resource, object: object): Promise<boolean> {
    return (await this.#api.patiently({ method: 'POST', path: pathTo(resource), body: object })).status === 201;
  }

  /** Undefined where it has none to show. */
  async logOf(pod: string): Promise<string | undefined> {
    const { status, text } = await this.#api.call({ method: 'GET', path: `${pathTo('pods', pod)}/log` });
    return status === 200 ? text : undefined;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.bundle.kubectl('-n', SYSTEM, ...args);
  }

  tryKubectl(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return this.bundle.controlPlane.kubectlRun(['-n', SYSTEM, ...args], { allowFailure: true });
  }

  /** What `kubectl ingester` prints. */
  async plugin(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.tryPlugin(...args);
    if (code !== 0) throw new CodedError('TEST_PLUGIN', stderr);
    return stdout;
  }

  tryPlugin(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { kubeconfig } = this.bundle.controlPlane;
    return runCommand(process.execPath, [programFile('kubectl-ingester'), ...args], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });
  }

  /** What explain would say of applying this instead; nothing is applied. */
  async dryRun(spec: IngesterSpec): Promise<string> {
    const file = join(this.bundle.controlPlane.directory, 'dry-run.json');
    writeFileSync(file, JSON.stringify(anIngester(spec)));
    return this.plugin('explain', INGESTER, '--with', file);
  }

  async apply(spec: IngesterSpec): Promise<void> {
    const input = JSON.stringify(anIngester(spec));
    await this.bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input });
  }

  async patch(spec: object): Promise<void> {
    await this.#patch('', { spec });
  }

  /** As "kubectl patch" does it. */
  async #patch(subresource: '' | '/status', body: object): Promise<void> {
    const path = `${pathTo('ingesters', INGESTER)}${subresource}?fieldManager=kubectl-patch`;
    await this.#api.must({ method: 'PATCH', path, body, contentType: contentTypes.merge });
  }

  /** Has a tick of a schedule come, without the test waiting for it. */
  async tick(lifecycle: Pick<LifecycleStatus, 'nextScheduleAt' | 'snapshotSchedule'>): Promise<void> {
    await this.#patch('/status', { status: { lifecycle } });
  }

  async status(): Promise<IngesterStatus> {
    return (await this.read<{ readonly status?: IngesterStatus }>('ingesters', INGESTER)).status ?? {};
  }

  /** Waits until the status fits; fails with what it was last. */
  async until(what: string, fits: (status: IngesterStatus) => boolean, timeoutMs = 300_000): Promise<IngesterStatus> {
    return eventually(async () => {
      const status = await this.status();
      if (fits(status)) return status;
      throw new CodedError(
        'TEST_STATUS',
        `not yet ${what}: ${JSON.stringify({ ...status, target: undefined, stable: undefined })}`,
      );
    }, timeoutMs);
  }

  /** Runs this version, and nothing is under way. */
  settled(version: string): Promise<IngesterStatus> {
    return this.until(`running ${version}`, (status) => isSettled(status, version));
  }

  inPhase(phase: TopPhase): Promise<IngesterStatus> {
    return this.until(phase, (status) => status.phase === phase);
  }

  async reasons(): Promise<readonly string[]> {
    const events = await this.list<{ readonly reason: string; readonly regarding: { readonly kind: string } }>(
      'events',
    );
    return events.filter(({ regarding }) => regarding.kind === 'Ingester').map(({ reason }) => reason);
  }
}

export function isSettled(status: IngesterStatus, version: string): boolean {
  return status.phase === 'Running' && status.version === version && status.lifecycle?.pipeline === 'Settled';
}

export function anIngester(spec: IngesterSpec): object {
  const metadata = { namespace: SYSTEM, name: INGESTER };
  return { apiVersion: 'ingester.michelangelo.api/v1', kind: 'Ingester', metadata, spec };
}

export const aSpec: IngesterSpec = {
  version: '1.0.0',
  database: { credentialsSecret: 'ingester-mysql', migrationCredentialsSecret: 'ingester-mysql-migrate' },
  kinds: { names: ['Model', 'Project'], requeuePeriod: '2s' },
  components: { sync: {}, query: { certificateSecret: 'ingester-query-tls' } },
  lifecycle: { maintenancePage: { retryAfterSeconds: 1 } },
};

/** For the tests of one file. */
export function useLifecycle(options: Pick<PodBundleOptions, 'images'> = {}): () => LifecycleCluster {
  let cluster: LifecycleCluster | undefined;
  before(async () => {
    cluster = new LifecycleCluster(
      await startPodBundle({ ...options, overlay: 'process-node-lifecycle', progress: () => undefined }),
    );
  });
  after(() => cluster?.stop());
  return () => {
    if (cluster === undefined) throw new CodedError('TEST_SETUP', 'the cluster is there only while tests run');
    return cluster;
  };
}
