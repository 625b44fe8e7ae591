// Every object inherits `constructor` and a dozen other names. Where one of them stands for a word that is looked up, there
// is an answer or a refusal, and never a failure of the server.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { permittedBy } from '../../src/api/ingester/permitted.ts';
import { kindOf } from '../../src/cli/kind.ts';
import { loadConfiguration, problemsIn } from '../../src/config/load.ts';
import { GENERATOR_PATH } from '../../src/query/generator.ts';
import { type AdmissionPorts, validatingPolicies } from '../../webhooks/policies/registry.ts';
import { aModel } from '../support/objects.ts';
import { fill, queryApp } from '../support/query-app.ts';
import { aReview } from '../support/review.ts';
import { aWebhookApp } from '../support/webhook-app.ts';

const names = Object.getOwnPropertyNames(Object.prototype);

const lists: readonly ((name: string) => string)[] = [
  (name) => `?${name}=1`,
  ...['orderBy', 'skip', 'source', 'owner', 'template', 'includeObject', 'since', 'continue', 'uid'].map(
    (parameter) => (name: string) => `?${parameter}=${name}`,
  ),
  (name) => `?fieldSelector=${name}%3D1,metadata.${name}%3D1`,
  (name) => `?labelSelector=${name}`,
  (name) => `?labelSelector=${name}%20in%20(${name})`,
  (name) => `?template=by-algorithm&param.algorithm=a&param.${name}=1`,
  (name) => `?template=by-algorithm&param.algorithm=${name}`,
];

const paths: readonly ((name: string) => string)[] = [
  ...lists.map((query) => (name: string) => `/namespaces/a/models${query(name)}`),
  (name) => `/namespaces/a/models/-/changes?${name}=1`,
  (name) => `/${name}`,
  (name) => `/namespaces/${name}/models`,
  (name) => `/namespaces/a/models/${name}`,
  (name) => `/namespaces/a/models/-/${name}`,
  (name) => `/namespaces/a/models/m1/${name}`,
  (name) => `/namespaces/a/models/m1?${name}=1`,
  (name) => `/summary?${name}=1`,
  (name) => `/ui/${name}`,
];

/** As text, because a literal would set the prototype instead of a key. */
const bodies: readonly ((name: string) => string)[] = [
  (name) => `{"${name}": 1}`,
  (name) => `{"operation": {"${name}": 1}}`,
  (name) => `{"operation": {"logicalOperator": "${name}"}}`,
  (name) => `{"operation": {"criterion": [{"${name}": 1}]}}`,
  ...['', 'model.', 'metadata.', 'metadata.labels.'].map(
    (prefix) => (name: string) =>
      `{"operation": {"criterion": [{"fieldName": "${prefix}${name}", "operator": "EQUAL", "matchValue": "1"}]}}`,
  ),
  (name) => `{"operation": {"criterion": [{"fieldName": "metadata.name", "operator": "${name}", "matchValue": "1"}]}}`,
  (name) =>
    `{"operation": {"criterion": [{"fieldName": "metadata.name", "operator": 1, "matchValue": {"@type": "${name}"}}]}}`,
  (name) => `{"orderBy": [{"field": "${name}", "dir": "${name}"}]}`,
  (name) => `{"orderBy": [{"${name}": "metadata.name"}]}`,
  (name) => `{"pagination": {"${name}": 1}}`,
  (name) => `{"returnedFieldSkipList": ["${name}", "spec.${name}"]}`,
  (name) => `{"source": "${name}"}`,
  (name) => `{"template": "${name}", "parameters": {"${name}": 1}}`,
  (name) => `{"template": "by-algorithm", "parameters": {"algorithm": "a", "${name}": 1}}`,
  (name) => `{"labelSelector": "${name}", "fieldSelector": "${name}=1"}`,
];

describe('a name that every object inherits', () => {
  it('is never a failure of the query API, in a path, a parameter, a header or a body', async () => {
    const { app, storage, get, post } = queryApp();
    await fill(storage);
    const failed: string[] = [];
    const judge = (what: string, status: number): void => {
      if (status >= 500) failed.push(`${status} ${what}`);
    };
    for (const name of names) {
      for (const path of paths) judge(path(name), (await get(path(name))).status);
      for (const body of bodies) {
        judge(body(name), (await post('/namespaces/a/models/-/search', body(name))).status);
      }
      for (const accept of [`application/json;as=${name};g=meta.k8s.io;v=v1`, name, `application/json;${name}=1`]) {
        judge(accept, (await get('/namespaces/a/models', accept)).status);
      }
      for (const body of [`{"${name}": 1}`, `{"input": {"parameters": {"namespace": "${name}"}}}`]) {
        judge(
          body,
          (await request(app).post(GENERATOR_PATH).set('Content-Type', 'application/json').send(body)).status,
        );
      }
      for (const path of [`/${name}`, `/apis/${name}`, `/ui/${name}`])
        judge(path, (await request(app).get(path)).status);
    }
    assert.deepEqual(failed, []);
  });

  it('is never a failure of the webhook, as a kind, a label, an annotation or a field', async () => {
    const nothing = () => Promise.resolve({ state: 'nothing' } as const);
    const ports: AdmissionPorts = {
      access: { mayDelete: () => Promise.resolve('no') },
      census: { hasObjects: () => Promise.resolve('none'), heldPlaces: () => Promise.resolve([]) },
      tombstones: { find: () => undefined },
      record: { migratedVersion: nothing, crd: nothing },
      bounds: { permitted: () => Promise.resolve(permittedBy({}, undefined)) },
      configurationProblems: problemsIn,
    };
    const policies = validatingPolicies(
      {
        incomparableVersions: 'deny',
        contentDowngrades: {},
        minimumApiVersion: '',
        createMarked: 'deny',
        archivedNames: 'deny',
        ownedDeletions: 'deny',
        fieldRules: 'deny',
      },
      ports,
    );
    const { app } = aWebhookApp({ policies });
    const failed: string[] = [];
    for (const name of names) {
      const named = JSON.parse(`{"${name}": "x"}`) as Record<string, string>;
      const object = { ...aModel({ labels: named, annotations: named }), spec: named } as never;
      const reviews = [
        aReview({ object }),
        aReview({ operation: 'UPDATE', object, oldObject: object }),
        aReview({ kind: { group: name, version: name, kind: name } }),
        aReview({ resource: { group: 'michelangelo.api', version: 'v2', resource: name } }),
        aReview({ operation: name, name, namespace: name }),
      ];
      for (const review of reviews) {
        for (const path of ['/mutate', '/validate']) {
          const { status, text } = await request(app).post(path).send(review);
          if (status >= 500 || /TypeError|internal/i.test(text)) failed.push(`${path} ${name}: ${status} ${text}`);
        }
      }
    }
    assert.deepEqual(failed, []);
  });

  it('is no kind, no label that is there, and no variable of the environment', () => {
    for (const name of names) {
      assert.throws(() => kindOf(name), /There is no kind/);
    }
    const file = new URL('../support/inherited-variable.yaml', import.meta.url).pathname;
    assert.throws(() => loadConfiguration({ file, env: {} }), /environment variable constructor is not set/);
  });
});
