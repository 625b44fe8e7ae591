import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Bundle } from '../../hack/local/bundle.ts';
import { INGESTER_GROUP, INGESTER_KIND, INGESTER_VERSION } from '../../src/api/ingester/spec.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { findKind } from '../../src/kinds/kinds.ts';
import { ifFound } from '../../src/kube/found.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { type ApiServer, askApiServer, contentTypes, pathOf } from './api-server.ts';
import { eventually } from './eventually.ts';

export type Row = Readonly<Record<string, unknown>>;

/**
 * What a test says to the API server and asks the database, in words of the product. What needs nothing of kubectl is sent
 * without it: each kubectl takes a tenth of a second of processor time from what the test waits for.
 */
export class Cluster {
  readonly #bundle: Bundle;
  #connected: HttpKubeClient | undefined;

  constructor(bundle: Bundle) {
    this.#bundle = bundle;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#bundle.kubectl(...args);
  }

  /** Exit code and output instead of an exception. */
  tryKubectl(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return this.#bundle.controlPlane.kubectlRun(args, { allowFailure: true });
  }

  apply(manifest: object, ...flags: readonly string[]): Promise<unknown> {
    return this.#bundle.controlPlane.kubectlRun(['apply', ...flags, '-f', '-'], { input: JSON.stringify(manifest) });
  }

  create(manifest: object, ...flags: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
    const input = JSON.stringify(manifest);
    return this.#bundle.controlPlane.kubectlRun(['create', ...flags, '-f', '-'], { input, allowFailure: true });
  }

  /** Creates it unless it is there. */
  async namespace(name: string): Promise<void> {
    const path = '/api/v1/namespaces';
    const { status, body } = await this.#ask((api) => api.call({ method: 'POST', path, body: { metadata: { name } } }));
    if (status !== 201 && body.reason !== 'AlreadyExists')
      throw new CodedError('TEST_API', `no namespace ${name}: ${status} ${body.message ?? ''}`);
  }

  /** Undefined when there is no such object. */
  get({ plural }: KindDefinition, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    return ifFound(this.#client().get({ resource: { group: GROUP, version: VERSION, plural }, namespace, name }));
  }

  #client(): HttpKubeClient {
    const { kubeconfig } = this.#bundle.controlPlane;
    this.#connected ??= new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
    return this.#connected;
  }

  /** Waits until etcd has forgotten the object. */
  async gone(kind: KindDefinition, namespace: string, name: string): Promise<void> {
    await eventually(async () => assert.equal(await this.get(kind, namespace, name), undefined));
  }

  #ask<T>(work: (api: ApiServer) => Promise<T>): Promise<T> {
    return askApiServer(this.#bundle.controlPlane.kubeconfig, work);
  }

  /** A merge, as "kubectl patch" sends it. */
  async patch(kind: KindDefinition, namespace: string, name: string, patch: object): Promise<void> {
    const path = `${pathOf(kind, namespace, name)}?fieldManager=kubectl-patch`;
    await this.#ask((api) => api.must({ method: 'PATCH', path, body: patch, contentType: contentTypes.merge }));
  }

  /** All incarnations of the name, oldest first. */
  rows(kind: KindDefinition, namespace: string, name?: string): Promise<readonly Row[]> {
    const byName = name === undefined ? '' : ' AND name = ?';
    return this.#bundle.database.query(
      `SELECT * FROM \`${kind.table}\` WHERE namespace = ?${byName} ORDER BY create_time, res_version`,
      name === undefined ? [namespace] : [namespace, name],
    );
  }

  async row(kind: KindDefinition, namespace: string, name: string): Promise<Row> {
    const rows = await this.rows(kind, namespace, name);
    if (rows.length !== 1 || rows[0] === undefined) {
      throw new CodedError('TEST_ROWS', `${rows.length} rows of ${kind.kind} ${namespace}/${name}`);
    }
    return rows[0];
  }

  reconcilerLog(): string {
    return readFileSync(this.#bundle.reconciler.logFile, 'utf8');
  }
}

export function kind(name: string): KindDefinition {
  const found = findKind(name);
  if (found === undefined) throw new CodedError('TEST_SETUP', `no kind ${name}`);
  return found;
}

export function aManifest(kindName: string, namespace: string, name: string, more: object = {}): object {
  const apiVersion = kindName === INGESTER_KIND ? `${INGESTER_GROUP}/${INGESTER_VERSION}` : `${GROUP}/${VERSION}`;
  return { apiVersion, kind: kindName, metadata: { namespace, name }, ...more };
}
