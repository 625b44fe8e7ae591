import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { type PodBundle, type PodBundleOptions, startPodBundle } from '../../hack/local/pod-bundle.ts';
import { programFile } from '../../hack/local/program.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { IngesterStatus, LifecycleStatus, TopPhase } from '../../src/api/ingester/status.ts';
import { CodedError } from '../../src/base/errors.ts';
import { eventually } from './eventually.ts';

export const SYSTEM = 'ingester-system';
export const INGESTER = 'ingester';

/** The bundle with its lifecycle controller, and one Ingester resource. */
export class LifecycleCluster {
  readonly bundle: PodBundle;

  constructor(bundle: PodBundle) {
    this.bundle = bundle;
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

  async patch(spec: object, ...args: readonly string[]): Promise<void> {
    await this.kubectl('patch', 'ingester', INGESTER, '--type=merge', '-p', JSON.stringify({ spec }), ...args);
  }

  /** Has a tick of a schedule come, without the test waiting for it. */
  async tick(lifecycle: Pick<LifecycleStatus, 'nextScheduleAt' | 'snapshotSchedule'>): Promise<void> {
    const patch = JSON.stringify({ status: { lifecycle } });
    await this.kubectl('patch', 'ingester', INGESTER, '--subresource=status', '--type=merge', '-p', patch);
  }

  async status(): Promise<IngesterStatus> {
    const object = JSON.parse(await this.kubectl('get', 'ingester', INGESTER, '-o', 'json')) as {
      status?: IngesterStatus;
    };
    return object.status ?? {};
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
    const list = JSON.parse(await this.kubectl('get', 'events.events.k8s.io', '-o', 'json')) as {
      items: { reason: string; regarding: { kind: string } }[];
    };
    return list.items.filter(({ regarding }) => regarding.kind === 'Ingester').map(({ reason }) => reason);
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
  after(() => cluster?.bundle.stop());
  return () => {
    if (cluster === undefined) throw new CodedError('TEST_SETUP', 'the cluster is there only while tests run');
    return cluster;
  };
}
