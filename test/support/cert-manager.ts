// cert-manager's controllers and injector beside a local control plane, with its definitions and without its webhook.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControlPlane } from '../../hack/local/control-plane.ts';
import { goModuleFolder } from '../../hack/local/go-module.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';

const sources = join(import.meta.dirname, '../../hack/local/cert-manager');

/** Returns what ends it. */
export async function startCertManager(controlPlane: ControlPlane, program: string): Promise<() => Promise<void>> {
  const module = await goModuleFolder('github.com/cert-manager/cert-manager', sources);
  await controlPlane.kubectlRun(['apply', '--server-side', '-f', join(module, 'deploy/crds')]);
  await controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s']);
  const directory = mkdtempSync(join(tmpdir(), 'cert-manager-'));
  const reaper = startReaper(directory);
  const server = new ServerProcess({
    name: 'cert-manager',
    command: program,
    args: [],
    env: { ...process.env, KUBECONFIG: controlPlane.kubeconfig, HOME: directory },
    ...{ directory, logFile: join(directory, 'cert-manager.log'), reaper },
    // What it does is waited for.
    ready: () => true,
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
    await reaper.dismiss();
  };
  await server.start();
  return stop;
}
