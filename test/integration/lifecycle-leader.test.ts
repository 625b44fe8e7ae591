// Two lifecycle controllers on the real API server, with the lease that they compete for.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { INGESTER_CRD } from '../../hack/generate/crds/ingester.ts';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { probe } from '../../hack/local/role-process.ts';
import { PERMITTED_CONFIG_MAP } from '../../src/api/ingester/permitted.ts';
import { runLifecycle } from '../../src/app/lifecycle/lifecycle.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const crd = join(import.meta.dirname, `../../crds/ingester/${INGESTER_CRD}.yaml`);
const SYSTEM = 'ingester-system';

class LifecycleController {
  readonly #logger = new RecordingLogger();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(kubeconfig: string) {
    const env = {
      INGESTER_KUBERNETES_KUBECONFIG: kubeconfig,
      INGESTER_HEALTH_BIND_ADDRESS: '127.0.0.1:0',
      INGESTER_LEADER_ELECTION_ENABLED: 'true',
    };
    const run = { signal: this.#stop.signal, podName: undefined };
    this.#ended = runLifecycle(loadConfiguration({ file: undefined, env }), this.#logger, run);
  }

  /** The sum of the series of this metric. */
  async count(metric: string): Promise<number> {
    const started = this.#logger.lines.find(({ message }) => message === 'Lifecycle controller started');
    const { body, status } = await probe(Number(started?.['healthPort']), '/metrics');
    assert.equal(status, 200);
    const series = [...body.matchAll(new RegExp(`^${metric}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    assert.notEqual(series.length, 0, metric);
    return series.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

describe('two lifecycle controllers', () => {
  let controlPlane: ControlPlane;
  const controllers: LifecycleController[] = [];
  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined, minimal: true });
    await controlPlane.kubectlRun(['create', 'namespace', SYSTEM]);
    // A controller that knows its own pod permits the image of that; here there is no pod.
    const permitted = ['create', 'configmap', PERMITTED_CONFIG_MAP, '--from-literal=images=*'];
    await controlPlane.kubectlRun(['-n', SYSTEM, ...permitted]);
    await controlPlane.kubectlRun(['apply', '-f', crd]);
    await eventually(() => controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all']));
  });
  after(async () => {
    for (const controller of controllers) await controller.stop();
    await controlPlane.stop();
  });

  const start = (): LifecycleController => {
    const controller = new LifecycleController(controlPlane.kubeconfig);
    controllers.push(controller);
    return controller;
  };
  const leads = (controller: LifecycleController, expected: 0 | 1): Promise<void> =>
    eventually(async () => assert.equal(await controller.count('leader_election_master_status'), expected), 30_000);
  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await controlPlane.kubectlRun(['-n', SYSTEM, ...args])).stdout;
  /** The run that the Job of the migration is for. */
  const runOfJob = (): Promise<string> =>
    eventually(async () => {
      const job = JSON.parse(await kubectl('get', 'job', 'one-migrate', '-o', 'json')) as {
        metadata: { annotations: Readonly<Record<string, string>> };
      };
      return job.metadata.annotations['michelangelo/run'] ?? '';
    }, 30_000);

  it('work one at a time, and the other goes on where the first has stopped', async () => {
    const first = start();
    await leads(first, 1);
    const second = start();
    await leads(second, 0);
    const ingester = {
      apiVersion: 'ingester.michelangelo.api/v1',
      kind: 'Ingester',
      metadata: { namespace: SYSTEM, name: 'one' },
      spec: { version: '1.0.0', database: { credentialsSecret: 'ingester-mysql' }, components: { sync: {} } },
    };
    await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(ingester) });
    assert.equal(await runOfJob(), 'migrate-1');
    assert.notEqual(await first.count('controller_runtime_reconcile_total'), 0);
    assert.equal(await second.count('controller_runtime_reconcile_total'), 0);
    await first.stop();
    await leads(second, 1);
    await kubectl('delete', 'job', 'one-migrate');
    assert.equal(await runOfJob(), 'migrate-1', 'the run goes on, and is no other attempt');
    assert.notEqual(await second.count('controller_runtime_reconcile_total'), 0);
  });
});
