import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Certificate } from '../../hack/local/certificates.ts';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { probe } from '../../hack/local/role-process.ts';
import {
  applyManifests,
  type LocalWebhook,
  startWebhook,
  type WebhookPlace,
} from '../../hack/local/webhook-process.ts';
import { CodedError } from '../../src/base/errors.ts';
import { ApiServer } from './api-server.ts';

/** A control plane and the webhook, registered as the manifests say; neither database nor reconciler. */
export interface Admission {
  readonly directory: string;
  readonly controlPlane: ControlPlane;
  readonly api: ApiServer;
  readonly webhook: LocalWebhook;
  /** Reviews that the webhook has answered on this path, by its own count. */
  calls(path?: '/mutate' | '/validate'): Promise<number>;
  /** The value of one line of the webhook's /metrics. */
  metric(line: string): Promise<number>;
}

export interface AdmissionOptions {
  /** What the API server shows to the webhook, and what the webhook wants to see. */
  readonly client?: () => Promise<{ readonly certificate: Certificate; readonly caPem: string; readonly name: string }>;
}

/** The program is that of this checkout unless another one is given. */
export function useAdmission(
  program?: () => Pick<WebhookPlace, 'main' | 'env'>,
  options: AdmissionOptions = {},
): () => Admission {
  let admission: Admission | undefined;
  const undo: (() => unknown)[] = [];
  before(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'admission-'));
    const reaper = startReaper(directory);
    undo.push(async () => {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
      await reaper.dismiss();
    });
    const client = await options.client?.();
    const controlPlane = await startControlPlane(client === undefined ? {} : { webhookClient: client.certificate });
    undo.push(() => controlPlane.stop());
    const clientCaFile = join(directory, 'clients.crt');
    if (client !== undefined) writeFileSync(clientCaFile, client.caPem);
    const webhook = await startWebhook({
      directory,
      reaper,
      settings: client === undefined ? {} : { clientCaFile, clientName: client.name },
      configuration: { kubernetes: { kubeconfig: controlPlane.kubeconfig } },
      ...program?.(),
    });
    undo.push(() => webhook.process.stop());
    const api = new ApiServer(controlPlane.kubeconfig);
    undo.push(() => api.close());
    await applyManifests(controlPlane, join(directory, 'config/overlays/local'));
    const metric = async (line: string): Promise<number> => {
      const { body } = await probe(webhook.healthPort, '/metrics');
      const found = body.split('\n').find((each) => each.startsWith(`${line} `));
      return Number(found?.slice(line.length + 1));
    };
    const calls = (path = '/mutate'): Promise<number> =>
      metric(`controller_runtime_webhook_requests_total{webhook="${path}",code="200"}`);
    admission = { directory, controlPlane, api, webhook, calls, metric };
  });
  after(async () => {
    for (const action of undo.toReversed()) await action();
  });
  return () => {
    if (admission === undefined) throw new CodedError('TEST_SETUP', 'the control plane is there only while tests run');
    return admission;
  };
}
