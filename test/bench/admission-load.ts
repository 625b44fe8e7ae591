// A closed loop of admission calls as the API server makes them: HTTP/1.1 over TLS, connections kept open.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { aReview } from '../support/review.ts';

export interface Target {
  readonly port: number;
  readonly pid: number;
}

export interface Load {
  readonly body: Buffer;
  readonly requests: number;
  readonly concurrency: number;
  readonly ca: string;
}

export interface LoadResult {
  /** Milliseconds of each call. */
  readonly latencies: readonly number[];
  readonly perSecond: number;
  /** Processor seconds of the server for a thousand calls. */
  readonly cpuPer1000: number;
}

/** A create of an object whose JSON has at least so many bytes, shaped like a cluster of many workers. */
export function createOf(bytes: number): Buffer {
  const workers: JsonObject[] = [];
  const object = { ...manifest, spec: { rayVersion: '2.9.0', workers } };
  while (JSON.stringify(object).length < bytes) workers.push(aWorker(workers.length));
  return Buffer.from(JSON.stringify(aReview({ object })));
}

const manifest = {
  apiVersion: 'michelangelo.api/v2',
  kind: 'RayCluster',
  metadata: { name: 'a-cluster', namespace: 'a-namespace', labels: { team: 'a-team' } },
};

function aWorker(index: number): JsonObject {
  return {
    nodeType: `worker-${index}`,
    image: 'registry.example.com/team/image:1.2.3',
    args: ['--flag', 'value', '--quoted="text"'],
    env: Array.from({ length: 12 }, (_, each) => ({ name: `VARIABLE_${each}`, value: `value ${each} of ${index}` })),
    resources: { limits: { cpu: 4, memory: '16Gi' }, requests: { cpu: 1.5, memory: '8Gi' } },
    enabled: true,
  };
}

export async function run(target: Target, { body, requests, concurrency, ca }: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency, ca });
  const latencies: number[] = [];
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      const started = performance.now();
      await post(target.port, agent, body);
      latencies.push(performance.now() - started);
    }
  };
  const cpuBefore = cpuSeconds(target.pid);
  const started = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return {
    latencies,
    perSecond: requests / seconds,
    cpuPer1000: ((cpuSeconds(target.pid) - cpuBefore) / requests) * 1000,
  };
}

/** As client-go does: a call that is answered 503 with Retry-After is repeated after that time. */
async function post(port: number, agent: Agent, body: Buffer): Promise<void> {
  for (;;) {
    const retryAfter = await postOnce(port, agent, body);
    if (retryAfter === undefined) return;
    await delay(retryAfter * 1000);
  }
}

/** Resolves to the seconds after which it has to be repeated; to undefined where it was answered. */
function postOnce(port: number, agent: Agent, body: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const options = { host: '127.0.0.1', port, path: '/mutate?timeout=10s', method: 'POST', agent, headers };
    const call = request(options, (response) => {
      response.resume().on('end', () => {
        const { 'retry-after': retryAfter } = response.headers;
        if (response.statusCode === 200) resolve(undefined);
        else if (response.statusCode === 503 && retryAfter !== undefined) resolve(Number(retryAfter));
        else reject(new CodedError('BENCH_FAILED', `the server answered ${response.statusCode}`));
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

const TICKS_PER_SECOND = 100;

/** User and system time of a process so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function residentMib(pid: number): number {
  return memoryMib(pid, 'VmRSS');
}

/** The most that was resident at any time. */
export function peakResidentMib(pid: number): number {
  return memoryMib(pid, 'VmHWM');
}

function memoryMib(pid: number, field: string): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}
