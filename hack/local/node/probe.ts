// One check of a container: an HTTP GET, a TCP connection or a command.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpGet, LifecycleHandler } from './pod.ts';

/** Undefined: it succeeded. Otherwise the text of the event. */
export type ProbeOutcome = string | undefined;

export interface ProbeTarget {
  /** Where the pod's ports really are. */
  readonly host: string;
  /** The number of a port given by name or number. */
  port(port: number | string): number | undefined;
  /** Exit code and output of a command where the container runs. */
  exec(command: readonly string[], timeoutMs: number): Promise<{ readonly code: number; readonly output: string }>;
}

const shownBytes = 256;

export async function runHandler(
  handler: LifecycleHandler,
  target: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeOutcome> {
  const { exec, httpGet, tcpSocket, sleep } = handler;
  if (exec !== undefined) {
    const { code, output } = await target.exec(exec.command, timeoutMs);
    return code === 0 ? undefined : `command exited with ${code}: ${output.trim().slice(0, shownBytes)}`;
  }
  if (httpGet !== undefined) return probeHttp(httpGet, target, timeoutMs);
  if (tcpSocket !== undefined) return probeTcp(tcpSocket.host ?? target.host, target.port(tcpSocket.port), timeoutMs);
  if (sleep !== undefined) {
    await delay(sleep.seconds * 1000);
    return undefined;
  }
  return 'the process node has no probes of this type';
}

function probeHttp(get: HttpGet, target: ProbeTarget, timeoutMs: number): Promise<ProbeOutcome> {
  const port = target.port(get.port);
  if (port === undefined) return Promise.resolve(`couldn't find port: ${get.port}`);
  const secure = get.scheme?.toUpperCase() === 'HTTPS';
  const options = {
    host: get.host ?? target.host,
    port,
    path: get.path ?? '/',
    agent: false,
    headers: {
      'user-agent': 'kube-probe/process-node',
      ...Object.fromEntries((get.httpHeaders ?? []).map(({ name, value }) => [name, value])),
    },
    signal: AbortSignal.timeout(timeoutMs),
    // As a kubelet: the server's certificate is not verified.
    ...(secure ? { rejectUnauthorized: false } : {}),
  } as const;
  return new Promise((resolve) => {
    const sent = (secure ? httpsRequest : httpRequest)(options, (response) => {
      const status = response.statusCode ?? 0;
      response.resume();
      response.on('error', () => undefined);
      resolve(status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`);
    });
    sent.on('error', (error) => resolve(`Get "${get.path ?? '/'}" on port ${port}: ${error.message}`));
    sent.end();
  });
}

function probeTcp(host: string, port: number | undefined, timeoutMs: number): Promise<ProbeOutcome> {
  if (port === undefined) return Promise.resolve("couldn't find port");
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (outcome: ProbeOutcome): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`dial tcp port ${port}: i/o timeout`));
    socket.once('error', (error) => end(`dial tcp port ${port}: ${error.message}`));
  });
}
