import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Permitted, permittedBy } from '../../../../src/api/ingester/permitted.ts';
import type { JsonObject } from '../../../../src/base/json.ts';
import { ingesterPermitted } from '../../../../webhooks/policies/ingester-permitted.ts';
import type { PolicyContext, Verdict } from '../../../../webhooks/policy.ts';
import { assertWarned, verdictOf } from '../../../support/policies.ts';

const database = { credentialsSecret: 'ingester-mysql' };
const fine: JsonObject = { version: '1.0.0', database, components: { sync: {} } };

interface Asking {
  readonly permitted?: Permitted | 'anything' | 'unknown';
  /** The specification that is stored; a create where there is none. */
  readonly before?: JsonObject;
  readonly audience?: PolicyContext['audience'];
}

function asked(
  spec: JsonObject,
  { permitted = permittedBy({}, 'ours/ingester'), before, audience }: Asking = {},
): Promise<Verdict> {
  const rule = ingesterPermitted({ permitted: () => Promise.resolve(permitted) });
  const gvk = { group: 'ingester.michelangelo.api', version: 'v1' };
  const request = {
    kind: { ...gvk, kind: 'Ingester' },
    resource: { ...gvk, resource: 'ingesters' },
    operation: before === undefined ? 'CREATE' : 'UPDATE',
    object: { metadata: { name: 'one' }, spec: { image: 'ours/ingester:1.0.0', ...spec } },
    oldObject:
      before === undefined ? null : { metadata: { name: 'one' }, spec: { image: 'ours/ingester:1.0.0', ...before } },
  };
  return verdictOf(rule, request, audience);
}

const messageOf = (verdict: Verdict): string => (verdict.allowed ? assert.fail('was allowed') : verdict.message);

describe('a value that an Ingester asks for', () => {
  it('is refused with the field, the value, the permitted values and the ConfigMap that lists them', async () => {
    assert.equal(
      messageOf(await asked({ ...fine, database: { credentialsSecret: 'theirs' } })),
      'spec.database.credentialsSecret: theirs is not permitted; key secrets of ConfigMap ingester-permitted permits ingester-*',
    );
    const image = messageOf(await asked({ ...fine, image: 'registry/theirs@sha256:0' }));
    assert.match(
      image,
      /^spec\.image: registry\/theirs is not permitted; key images of ConfigMap .* permits ours\/ingester$/,
    );
  });

  it('is refused with all problems at once, on one line, and not without an end', async () => {
    const labels = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`l${index}`, 'x']));
    const message = messageOf(
      await asked({
        ...fine,
        database: { ...database, host: 'a\nb' },
        podTemplate: { priorityClassName: 'high', labels },
      }),
    );
    assert.match(message, /spec\.database\.host: a b is/);
    assert.match(message, /; and 42 more$/);
    assert.match(message, /^[ -~]+$/);
    const few = messageOf(await asked({ ...fine, podTemplate: { priorityClassName: 'high', labels: { app: 'x' } } }));
    assert.match(few, /spec\.podTemplate\.labels: app is .*; spec\.podTemplate\.priorityClassName: high is/);
  });

  const pods: readonly (readonly [string, JsonObject, RegExp])[] = [
    ['a label', { labels: { 'azure.workload.identity/use': 'true' } }, /labels: azure\.workload\.identity\/use/],
    ['a priority class', { priorityClassName: 'system-node-critical' }, /priorityClassName: system-node-critical/],
    ['a taint', { tolerations: [{ key: 'node-role.kubernetes.io/control-plane' }] }, /tolerations\[0\]: node-role/],
    ['every taint', { tolerations: [{ operator: 'Exists' }] }, /tolerations\[0\]: every taint is/],
    ['a folder of the node', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, /volumes\[0\]: hostPath/],
    ['what is no list', { volumes: 'x' }, /volumes\[0\]: no text|volumes\[0\]: x is/],
  ];
  for (const [what, pod, problem] of pods) {
    it(`is bounded for pods of components and tasks alike: ${what}`, async () => {
      for (const spec of [
        { podTemplate: pod },
        { lifecycle: { podTemplate: pod } },
        { components: { query: { certificateSecret: 'ingester-tls', podTemplate: pod } } },
      ]) {
        assert.match(messageOf(await asked({ ...fine, ...spec })), problem);
      }
    });
  }

  it('is allowed where the ConfigMap permits it', async () => {
    const data = { labels: 'team cost-*', priorityClasses: 'high', tolerations: '*' };
    const podTemplate = {
      labels: { team: 'a', 'cost-center': 'b' },
      priorityClassName: 'high',
      tolerations: [{ operator: 'Exists' }],
    };
    const permitted = permittedBy(data, 'ours/ingester');
    assert.deepEqual(await asked({ ...fine, podTemplate }, { permitted }), { allowed: true });
    assert.match(
      messageOf(await asked({ ...fine, podTemplate: { labels: { app: 'x' } } }, { permitted })),
      /permits team cost-\*$/,
    );
  });

  it('stays permitted where it was before, whatever other fields are edited', async () => {
    const env = [{ name: 'THEIRS', value: '1' }];
    const before = { ...fine, database: { credentialsSecret: 'theirs' }, podTemplate: { env } };
    const moved = { env: [{ name: 'TZ', value: 'UTC' }, ...env] };
    for (const change of [{}, { suspend: true }, { podTemplate: moved }, { database }]) {
      assert.deepEqual(await asked({ ...before, ...change }, { before }), { allowed: true });
    }
    assert.match(
      messageOf(await asked({ ...before, database: { credentialsSecret: 'others' } }, { before })),
      /others is not/,
    );
    assert.match(
      messageOf(await asked({ ...before, imagePullSecrets: ['theirs'] }, { before })),
      /imagePullSecrets: theirs/,
    );
  });

  it('is left to the controller, with a warning, where the ConfigMap cannot be read in time', async () => {
    const spec = { ...fine, database: { credentialsSecret: 'theirs' } };
    assertWarned(await asked(spec, { permitted: 'unknown' }), /cannot be read now; the lifecycle controller judges/);
    assert.deepEqual(await asked(spec, { permitted: 'anything' }), { allowed: true });
  });

  it('is explained to any client other than the API server only as far as the documentation does', async () => {
    const permitted = permittedBy({ hosts: 'mysql.internal' }, 'registry.internal/ingester');
    const spec = { ...fine, image: 'theirs:1', database: { credentialsSecret: 'theirs', host: 'theirs' } };
    const message = messageOf(await asked(spec, { permitted, audience: 'any-client' }));
    assert.doesNotMatch(message, /internal/);
    assert.match(message, /key secrets of ConfigMap ingester-permitted permits ingester-\*/);
    assert.match(message, /key hosts of ConfigMap ingester-permitted says what is/);
  });
});
