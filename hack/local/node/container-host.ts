// What a container takes from its pod and its node: environment, mounts, and the way to look at it from outside.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Clock } from '../../../src/base/clock.ts';
import { messageOf } from '../../../src/base/errors.ts';
import type { NodeConfiguration } from './configuration.ts';
import type { ContainerRun } from './container-run.ts';
import { ContainerConfigError, environmentOf, type KeyedTexts } from './environment.ts';
import type { PodAddresses } from './field-values.ts';
import { findImage, type LocalImage } from './image-table.ts';
import { joinCommand, type Unshare } from './launch.ts';
import type { MountAt } from './mirror.ts';
import type { Container, Pod, Volume } from './pod.ts';
import type { ProbeTarget } from './probe.ts';
import { expandVariables } from './variables.ts';

export interface ContainerHost {
  readonly pod: () => Pod;
  /** Of the pod. */
  readonly folder: string;
  readonly configuration: NodeConfiguration;
  readonly addresses: PodAddresses;
  /** Where the ports of the pod really are. */
  readonly loopback: string;
  readonly texts: KeyedTexts;
  readonly pathOf: (volume: Volume) => string;
  readonly unshare: Unshare;
  readonly clock: Clock;
  readonly event: (type: 'Normal' | 'Warning', reason: string, note: string) => void;
  /** Has the pod looked at again. */
  readonly wake: () => void;
}

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const killedCode = 137;
const notStartedCode = 127;

export function environmentFor(
  container: Container,
  image: LocalImage,
  { pod, configuration, addresses, texts, loopback }: ContainerHost,
): Promise<Map<string, string>> {
  const { host, port } = configuration.apiServer;
  const base = {
    PATH: [...image.path, usualPath].join(':'),
    HOME: '/root',
    ...image.env,
    HOSTNAME: pod().metadata.name,
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    POD_LOOPBACK_ADDRESS: loopback,
  };
  return environmentOf({ pod: pod(), container, addresses, capacity: configuration.capacity, base, texts });
}

export function mountsFor(
  container: Container,
  { run, env }: { readonly run: ContainerRun; readonly env: ReadonlyMap<string, string> },
  { pod, pathOf }: ContainerHost,
): readonly MountAt[] {
  const volumes = new Map((pod().spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const mounts = (container.volumeMounts ?? []).map((mount): MountAt => {
    const volume = volumes.get(mount.name);
    if (volume === undefined) throw new ContainerConfigError(`there is no volume "${mount.name}"`);
    const part = expandVariables(mount.subPath ?? '', env);
    const writable = volume.emptyDir !== undefined || volume.hostPath !== undefined;
    const kind = part !== '' && !writable ? 'file' : 'folder';
    return { from: join(pathOf(volume), part), path: mount.mountPath, kind, readOnly: mount.readOnly ?? !writable };
  });
  const path = container.terminationMessagePath ?? '/dev/termination-log';
  return [...mounts, { from: run.messageFile, path, kind: 'file', readOnly: false }];
}

/** How probes and hooks reach the container; `pid` is that of its process. */
export function probeTargetOf(container: Container, pid: () => number | undefined, host: ContainerHost): ProbeTarget {
  return {
    host: host.loopback,
    port: (port) =>
      typeof port === 'number' || /^\d+$/.test(port)
        ? Number(port)
        : container.ports?.find(({ name }) => name === port)?.containerPort,
    exec: async (command, timeoutMs) => {
      const image = findImage(host.configuration.images, container.image);
      const inside = pid();
      if (image === undefined || inside === undefined)
        return { code: notStartedCode, output: 'the container does not run' };
      const env = Object.fromEntries(await environmentFor(container, image, host));
      return run(joinCommand(inside, host.unshare, command), env, timeoutMs);
    },
  };
}

async function run(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  timeout: number,
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout, killSignal: 'SIGKILL' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code: code ?? killedCode, output };
  } catch (error) {
    return { code: notStartedCode, output: messageOf(error) };
  }
}
