// A node of a cluster that runs pods as processes of this machine, without a container engine.
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { untilAborted } from '../../../src/base/abort.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CodedError } from '../../../src/base/errors.ts';
import type { Logger } from '../../../src/base/logger.ts';
import type { ResourceHandler } from '../../../src/kube/handler.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import { Informer } from '../../../src/kube/informer.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { EventRecorder } from '../../../src/runtime/event-recorder.ts';
import { AddressPool } from './address-pool.ts';
import type { NodeConfiguration } from './configuration.ts';
import { endPod } from './end-pods.ts';
import { findUnshare } from './launch.ts';
import { createLogServer, type LogSource } from './log-server.ts';
import { keepNode } from './node-object.ts';
import { ObjectReader } from './object-reader.ts';
import { asPod } from './pod.ts';
import { type NodeContext, PODS, PodWorker } from './pod-worker.ts';

const kubeletPort = 10_250;
const attempts = 50;

/** Runs until aborted. What its pods run goes on after that. */
export async function runProcessNode(
  configuration: NodeConfiguration,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const clock = systemClock;
  mkdirSync(join(configuration.stateDirectory, 'pods'), { recursive: true });
  const workers = new Map<string, PodWorker>();
  const server = createLogServer(configuration, (...which) => findLogs(workers, which));
  const loopbackPrefix = await reserveLoopback(server, configuration.stateDirectory);
  const transport = new PooledTransport({ kubeconfig: configuration.kubeconfig, context: '', clock });
  const client = new HttpKubeClient(transport);
  const addresses = new AddressPool(configuration.addressPrefix, loopbackPrefix);
  const objects = new ObjectReader({ client, transport, clock, maxAgeMs: configuration.timings.refreshMs / 2 });
  const reporter = { controller: 'process-node.local/node', instance: configuration.name };
  const recorder = new EventRecorder({ client, reporter, clock, logger });
  const unshare = configuration.mounts === 'private' ? findUnshare() : undefined;
  if (unshare === undefined) logger.warn({}, 'No private mounts: volumes are below the folder that POD_ROOT names');
  const context = { configuration, client, objects, addresses, recorder, unshare, clock, logger };
  const selection = { fieldSelector: `spec.nodeName=${configuration.name}` };
  const store = new IdentityStore();
  const informer = new Informer({ client, resource: PODS, store, clock, logger, selection });
  const orphans = new Set(readdirSync(join(configuration.stateDirectory, 'pods')));
  const registration = informer.addHandler(handlerOf(workers, context, orphans));
  const identity = {
    ...{ configuration, client, clock, logger, hostIP: addresses.hostIP, loopbackPrefix, port: kubeletPort },
    beaten: () => writeFileSync(join(configuration.stateDirectory, 'heartbeat'), String(process.pid)),
  };
  const running = [keepNode(identity, signal), informer.run(signal), recorder.run(signal)];
  void endOrphans(() => registration.synced, orphans, context, signal);
  await untilAborted(signal);
  for (const worker of workers.values()) worker.leave();
  server.closeAllConnections();
  server.close();
  await Promise.all(running);
  await client.close();
}

function handlerOf(workers: Map<string, PodWorker>, context: NodeContext, orphans: Set<string>): ResourceHandler {
  return {
    add: ({ identity: { uid }, watched }) => {
      orphans.delete(uid);
      if (watched === undefined) return;
      const worker = new PodWorker(asPod(watched.parse()), context, () => workers.delete(uid));
      workers.set(uid, worker);
      worker.wake();
    },
    update: (_before, after) => workers.get(after.identity.uid)?.update(asPod(after.parse())),
    delete: ({ identity }) => workers.get(identity.uid)?.remove(),
  };
}

/** Pods that were removed while no node ran still have processes. */
async function endOrphans(
  synced: () => boolean,
  orphans: ReadonlySet<string>,
  { clock, configuration, logger }: NodeContext,
  signal: AbortSignal,
): Promise<void> {
  while (!synced() && !signal.aborted) await new Promise<void>((resolve) => clock.schedule(50, () => resolve()));
  if (signal.aborted) return;
  for (const uid of orphans) {
    logger.info({ uid }, 'Ending what is left of a pod that is gone');
    await endPod(join(configuration.stateDirectory, 'pods', uid));
  }
}

function findLogs(
  workers: ReadonlyMap<string, PodWorker>,
  [namespace, name, containerName]: readonly [string, string, string],
): LogSource | undefined {
  for (const { pod, containers } of workers.values()) {
    if (pod.metadata.namespace !== namespace || pod.metadata.name !== name) continue;
    const container = containers.find(({ spec }) => spec.name === containerName);
    return container && { files: container.logFiles, running: () => container.running };
  }
  return undefined;
}

/** Has the server listen on the first of 254 free loopback addresses; the same as before a restart. */
async function reserveLoopback(server: Server, stateDirectory: string): Promise<string> {
  const file = join(stateDirectory, 'loopback');
  const former = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    // Other programs use 127.0, and 127.255 has the broadcast address.
    const prefix = former ?? `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
    if (await listens(server, `${prefix}.1`)) {
      writeFileSync(file, prefix);
      return prefix;
    }
  }
  throw new CodedError('LOCAL_NODE_ADDRESS', `The node found no loopback addresses after ${attempts} tries.`);
}

function listens(server: Server, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const failed = (): void => resolve(false);
    server.once('error', failed);
    server.listen({ host, port: kubeletPort, exclusive: true }, () => {
      server.off('error', failed);
      resolve(true);
    });
  });
}
