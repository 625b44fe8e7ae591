import { join } from 'node:path';
import { after, before } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { type ClusterNetwork, startClusterNetwork } from '../../hack/local/node/cluster-network.ts';
import type { LocalImage } from '../../hack/local/node/image-table.ts';
import type { Pod } from '../../hack/local/node/pod.ts';
import { type ProcessNode, type ProcessNodeOptions, startProcessNode } from '../../hack/local/node/start-node.ts';
import { CodedError } from '../../src/base/errors.ts';
import { type ApiAnswer, askApiServer } from './api-server.ts';

const root = join(import.meta.dirname, '../..');

/** Programs of this machine for tests: a shell, and Node with the address of its pod. */
export const testImages: readonly LocalImage[] = [
  { match: 'test/shell(:.*)?', entrypoint: ['sh', '-c'], path: [], env: {} },
  {
    match: 'test/node(:.*)?',
    entrypoint: [process.execPath, '--eval'],
    path: [],
    env: { NODE_OPTIONS: `--import=${join(root, 'hack/local/node/pod-address.ts')}` },
  },
];

/** A control plane with process nodes, and what tests say to it. */
export class NodeCluster {
  readonly controlPlane: ControlPlane;
  readonly network: ClusterNetwork;
  readonly nodes: readonly ProcessNode[];

  constructor(controlPlane: ControlPlane, network: ClusterNetwork, nodes: readonly ProcessNode[]) {
    this.controlPlane = controlPlane;
    this.network = network;
    this.nodes = nodes;
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return (await this.controlPlane.kubectlRun(args)).stdout;
  }

  tryKubectl(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return this.controlPlane.kubectlRun(args, { allowFailure: true });
  }

  async apply(...manifests: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
    await this.controlPlane.kubectlRun(['apply', '-f', '-'], { input });
  }

  async pod(name: string): Promise<Pod> {
    return (await this.#get(`pods/${name}`)) as unknown as Pod;
  }

  async pods(selector: string): Promise<readonly Pod[]> {
    const list = await this.#get(`pods?labelSelector=${encodeURIComponent(selector)}`);
    return (list as unknown as { readonly items: readonly Pod[] }).items;
  }

  /** Reasons of the events about an object. */
  async events(name: string): Promise<readonly string[]> {
    const list = await this.#get(`events?fieldSelector=involvedObject.name%3D${name}`);
    return (list as unknown as { readonly items: readonly { reason: string }[] }).items.map(({ reason }) => reason);
  }

  /** Without kubectl, which takes a tenth of a second of processor time from what is waited for. */
  #get(path: string): Promise<ApiAnswer['body']> {
    const call = { method: 'GET', path: `/api/v1/namespaces/default/${path}` } as const;
    return askApiServer(this.controlPlane.kubeconfig, (api) => api.must(call));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.network.stop();
    await this.controlPlane.stop();
  }
}

/** A cluster with process nodes for the tests of one file. */
export function useNodes(options: Partial<ProcessNodeOptions> & { readonly count?: 1 | 2 } = {}): () => NodeCluster {
  let cluster: NodeCluster | undefined;
  before(async () => {
    const { count = 1, images = testImages, ...more } = options;
    const controlPlane = await startControlPlane({ progress: () => undefined });
    const network = await startClusterNetwork(controlPlane);
    cluster = new NodeCluster(controlPlane, network, []);
    const indexes = ([0, 1] as const).slice(0, count);
    const nodes = await Promise.all(indexes.map((index) => startProcessNode(controlPlane, { ...more, images, index })));
    cluster = new NodeCluster(controlPlane, network, nodes);
  });
  after(() => cluster?.stop());
  return () => {
    if (cluster === undefined) throw new CodedError('TEST_SETUP', 'the cluster is there only while tests run');
    return cluster;
  };
}

export function aPod(name: string, spec: object, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec };
}

/** A container that runs a shell script. */
export function aShell(script: string, more: object = {}): object {
  return { name: 'main', image: 'test/shell', args: [script], ...more };
}

export function aDeployment(name: string, replicas: number, pod: object): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  };
}

export function aJob(name: string, pod: object, more: object = {}): object {
  const template = { metadata: { labels: { app: name } }, spec: { restartPolicy: 'Never', ...pod } };
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template, ...more } };
}
