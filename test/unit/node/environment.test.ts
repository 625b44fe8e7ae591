import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environmentOf, type KeyedTexts } from '../../../hack/local/node/environment.ts';
import type { Container, Pod } from '../../../hack/local/node/pod.ts';
import { inUnits } from '../../../hack/local/node/quantity.ts';
import { expandVariables } from '../../../hack/local/node/variables.ts';

const texts: KeyedTexts = {
  secret: (name) =>
    Promise.resolve(
      name === 'there'
        ? new Map([
            ['key', Buffer.from('secret')],
            ['no name!', Buffer.from('x')],
          ])
        : undefined,
    ),
  configMap: () => Promise.resolve(undefined),
};

function environment(container: Omit<Container, 'name' | 'image'>): Promise<ReadonlyMap<string, string>> {
  const metadata = {
    ...{ name: 'pod', namespace: 'ns', uid: 'u', resourceVersion: '1' },
    labels: { b: '2', a: 'one "quoted"' },
  };
  const whole = { name: 'main', image: 'image', ...container };
  const pod: Pod = { metadata, spec: { restartPolicy: 'Always', containers: [whole], nodeName: 'node' } };
  const addresses = { podIP: '192.0.2.2', hostIP: '192.0.2.1' };
  return environmentOf({ pod, container: whole, addresses, capacity: { cpu: '16' }, base: { BASE: 'base' }, texts });
}

const fromField = (fieldPath: string) => ({ env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath } } }] });

describe('the environment of a container', () => {
  it('lets later variables win and refer to earlier ones', async () => {
    const env = await environment({
      envFrom: [{ prefix: 'P_', secretRef: { name: 'there' } }],
      env: [
        { name: 'BASE', value: '$(BASE) and more' },
        { name: 'TWO', value: '$(P_key) $(TWO)' },
      ],
    });
    assert.deepEqual(Object.fromEntries(env), { BASE: 'base and more', P_key: 'secret', TWO: 'secret $(TWO)' });
  });

  for (const [path, value] of [
    ['metadata.name', 'pod'],
    ['metadata.namespace', 'ns'],
    ["metadata.labels['b']", '2'],
    ["metadata.labels['none']", ''],
    ['metadata.labels', 'a="one \\"quoted\\""\nb="2"'],
    ['spec.nodeName', 'node'],
    ['status.podIP', '192.0.2.2'],
    ['status.hostIPs', '192.0.2.1'],
  ] as const) {
    it(`has ${path}`, async () => assert.equal((await environment(fromField(path))).get('X'), value));
  }

  for (const [what, container, message] of [
    ['a Secret', { envFrom: [{ secretRef: { name: 'gone' } }] }, /^secret "gone" not found$/],
    ['a ConfigMap', { envFrom: [{ configMapRef: { name: 'gone' } }] }, /^configmap "gone" not found$/],
    [
      'a key',
      { env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'there', key: 'other' } } }] },
      /^couldn't find key other in Secret ns\/there$/,
    ],
    ['a field', fromField('spec.nothing'), /spec\.nothing/],
  ] as const) {
    it(`says that ${what} is missing`, () => assert.rejects(environment(container), { message }));
  }

  it('leaves out variables that are optional and missing', async () => {
    const optional = { name: 'gone', optional: true };
    const env = await environment({
      envFrom: [{ secretRef: optional }, { configMapRef: optional }],
      env: [{ name: 'X', valueFrom: { configMapKeyRef: { ...optional, key: 'key' } } }],
    });
    assert.deepEqual([...env.keys()], ['BASE']);
  });
});

describe('references in commands and values', () => {
  const variables = new Map([['A', 'one']]);
  for (const [text, expanded] of [
    ['$(A)-$(A)', 'one-one'],
    ['$(B)', '$(B)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$one'],
    ['$A ${A} $', '$A ${A} $'],
  ] as const) {
    it(`turn ${text} into ${expanded}`, () => assert.equal(expandVariables(text, variables), expanded));
  }
});

describe('a quantity in units of a divisor', () => {
  for (const [value, divisor, expected] of [
    ['1500m', '1', '2'],
    ['100m', '1m', '100'],
    ['64Mi', '1Mi', '64'],
    ['1Gi', '1k', '1073742'],
    ['2', '0', '2'],
    ['many', '1', undefined],
  ] as const) {
    it(`is ${expected} for ${value} by ${divisor}`, () => assert.equal(inUnits(value, divisor), expected));
  }
});
